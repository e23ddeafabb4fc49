// token_files: what `pillion token` leaves behind: private keys, key sets, lists of tokens. A
// private key is this user's alone, and nothing that was there before is lost.
//
// Thread: the one of the command line.
#pragma once

#include <string>
#include <string_view>

#include "crypto/signing_key.hpp"

namespace pillion::app {

// The key of a file. Null with a fault.
std::unique_ptr<crypto::signing_key> read_signing_key(const std::string& path, std::string& fault);

// Writes a new file, mode 0600. False with a fault, also when there is one of that name.
bool write_secret_file(const std::string& path, std::string_view text, std::string& fault);

// Adds a key to the set in `path`, which need not be there yet, and puts the new set in its place
// in one step. Readable by everybody unless a key in it is a secret. False with a fault, also when
// the set has a key of that id.
bool add_to_key_set(const std::string& path, std::string_view id, const std::string& jwk,
                    std::string& fault);

// Adds a line at the end of a file, which is made with mode 0600. False with a fault.
bool append_line(const std::string& path, const std::string& line, std::string& fault);

}  // namespace pillion::app
