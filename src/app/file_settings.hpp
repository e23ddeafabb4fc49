// file_settings: what the configuration offers of files: folders of prompts, directories of
// resources.
//
// Thread: the one that makes the settings.
#pragma once

#include "app/key_reader.hpp"

namespace pillion::app {

void read_file_settings(key_reader& from, settings& to);

}  // namespace pillion::app
