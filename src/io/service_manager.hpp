// service_manager: what systemd, or whoever speaks its protocols, has to do with this process: the
// listening sockets it passes on (sd_listen_fds(3)) and what it is told (sd_notify(3)). Without one
// all of this is nothing.
//
// Thread: the main one, for passed_sockets() before any other is started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pillion::io {

// The first descriptor that is passed on.
inline constexpr int passed_first = 3;

// How many descriptors were meant for this process, by LISTEN_PID and LISTEN_FDS; 0: none. Marks
// them as not to be inherited. Read once, since a reload must not see others.
int passed_sockets() noexcept;

// The same as addresses to listen on: "fd:3", "fd:4".
std::vector<std::string> passed_addresses();

// Tells the service manager, "READY=1" for one, where NOTIFY_SOCKET names who wants to hear. A
// failure is nobody's concern.
void tell_manager(std::string_view state) noexcept;

}  // namespace pillion::io
