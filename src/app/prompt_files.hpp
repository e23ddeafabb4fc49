// prompt_files: prompts that are Markdown files, one each, with a head of YAML:
//
//     ---
//     name: review              # else the file's name without .md
//     title: Review a change
//     description: Finds what is wrong with a change.
//     arguments:
//       - name: language
//         description: What it is written in
//         required: true
//         complete: [C++, Python]
//     ---
//     Please review this {{language}} change. ...
//
// A file without a head is all text. See sidecar/prompt_file for the text.
//
// For start-up and reload. Thread-safety: plain functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/server.hpp>

#include "app/config_fault.hpp"
#include "sidecar/prompt_file.hpp"

namespace pillion::app {

inline constexpr std::size_t prompt_bytes_max = 256 * 1024;
inline constexpr std::size_t prompt_files_max = 1000;

// Reads one; `name` is what it is called if it does not say. False with at least one fault.
bool read_prompt_file(std::string_view name, std::string_view text, sidecar::prompt_file& to,
                      config_faults& faults);

// Reads all files of a folder whose names end in .md and do not begin with a dot, in the order of
// their names; not those of folders in it. Each that is at fault is left out and told of:
// "FILE:LINE:COLUMN: what", with `called` for the folder. False when there is a fault.
bool read_prompt_folder(const std::string& folder, const std::string& called,
                        std::vector<sidecar::prompt_file>& to, std::vector<std::string>& faults);

// Registers them all. No two of one folder have one name; whoever else has one of them is the
// catalog's business.
void add_prompt_files(catalog& to, std::vector<sidecar::prompt_file> files);
void add_prompt_files(server& to, std::vector<sidecar::prompt_file> files);

}  // namespace pillion::app
