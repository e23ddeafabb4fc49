// tally: what was counted in a run: answers, errors by class with an example of each, bytes.
//
// Thread: its shard.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "fault.hpp"

namespace pillion::load {

class tally {
 public:
    std::uint64_t ok = 0;
    std::uint64_t reconnects = 0;
    std::uint64_t events = 0;  // of progress, looks at tasks, questions that were answered
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;

    // Counts an error; `example` is kept of the first of its class.
    void add_error(const verdict& what, std::string_view example);

    std::uint64_t errors() const noexcept;
    std::uint64_t errors(fault of) const noexcept { return errors_[static_cast<std::size_t>(of)]; }
    // Errors among all that was asked; 0 when there was nothing.
    double error_rate() const noexcept;
    // One line of printable ASCII; empty when there is none.
    const std::string& example(fault of) const noexcept {
        return examples_[static_cast<std::size_t>(of)];
    }
    // How often each JSON-RPC code came; codes beyond the first 32 are counted under 0.
    const std::map<std::int64_t, std::uint64_t>& rpc_codes() const noexcept { return rpc_codes_; }

 private:
    std::array<std::uint64_t, faults> errors_{};
    std::array<std::string, faults> examples_;
    std::map<std::int64_t, std::uint64_t> rpc_codes_;
};

}  // namespace pillion::load
