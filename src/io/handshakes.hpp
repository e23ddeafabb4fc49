// handshakes: of a listening TCP socket that is about to be closed. Closing resets whoever is
// connected and not yet accepted, and whoever believes to be connected while the last step of the
// handshake is on its way: so new ones are ignored first, and the socket is closed when the system
// knows of none that it has begun to answer.
//
// Thread-safety: plain functions.
#pragma once

namespace pillion::io {

// Makes the system ignore new handshakes, while those under way are completed. Ignored clients try
// again after a second, here or with a successor on the port. False where filters are denied.
bool ignore_handshakes(int listen_fd) noexcept;

// The same without a filter, at the very end: only packets with all of 255 hops left are taken
// (IP_MINTTL, RFC 5082; anybody may set it), and clients send none. A handshake under way is
// completed, but what is sent on its connection is dropped too until hear_again().
void drop_handshakes(int listen_fd) noexcept;

// For what was accepted of a socket after drop_handshakes(): its client repeats what was dropped.
void hear_again(int fd) noexcept;

// Whether the system has answered a handshake on this port that is not complete yet, on whichever
// of the sockets that share it. False where the system does not say (no sock_diag(7)). What this
// was asked about before is in the queue of accept(2) as soon as the answer is false. One walk
// through the connections of the system: for the end, not for every turn.
bool handshakes_under_way(int listen_fd) noexcept;

}  // namespace pillion::io
