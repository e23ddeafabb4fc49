// What the servers of these tests say.
#pragma once

#include <string>

namespace pillion::client::testing {

inline const std::string good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

}  // namespace pillion::client::testing
