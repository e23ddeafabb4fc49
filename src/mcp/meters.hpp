// meters: what one shard counts of the requests it serves, by method, tool or prompt, and outcome.
// Plain numbers, written by the shard alone; a scrape copies them (metrics_endpoint.hpp).
//
// A tool counts under its name through all editions of the registry: when an edition is first used
// here, each of its tools is given a row (rows_of), and a request finds its row by the position of
// its tool. Names come from the registry only, and only so many (limits::metered_names_max): what a
// client sends never becomes a label.
//
// Other counters are members of whoever counts; a metrics_source puts them on the page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/duration_histogram.hpp"
#include "base/hash.hpp"
#include "base/intrusive_list.hpp"
#include "base/metrics_page.hpp"
#include "mcp/method.hpp"
#include "mcp/outcome.hpp"

namespace pillion::mcp {

class registry;

// Something on a shard that has numbers to show.
class metrics_source : public base::list_hook<> {
 public:
    virtual void collect(base::metrics_page& to) const = 0;
    // Is asked no more: before the engine goes that it was added to. Idempotent.
    void leave() noexcept {
        if (linked()) {
            unlink();
        }
    }

 protected:
    ~metrics_source() { leave(); }
};

class meters {
 public:
    // Where the tools and prompts of one registry are counted, by their position in it.
    struct rows {
        std::vector<std::uint32_t> tools;
        std::vector<std::uint32_t> prompts;
    };
    rows rows_of(const registry& offers);

    // What counts for a call of something that the registry does not know.
    static constexpr std::uint32_t other = 0;

    // A request has ended. `row`: for tools/call and prompts/get.
    void ended(method_id method, std::uint32_t row, outcome how, std::int64_t spent_ns) noexcept {
        std::unique_ptr<base::duration_histogram>& durations =
            (method == method_id::tools_call    ? tools_.all[row]
             : method == method_id::prompts_get ? prompts_.all[row]
                                                : methods_[static_cast<std::size_t>(method)])
                .by_outcome[how.index()];
        if (durations == nullptr) [[unlikely]] {
            durations = std::make_unique<base::duration_histogram>();
        }
        durations->add(spent_ns);
    }
    // A deadline fired: how long after its time the answer was queued.
    void deadline_fired(std::int64_t late_ns) noexcept { deadline_lateness_.add(late_ns); }

    void collect(base::metrics_page& to) const;

 private:
    struct counted {
        std::string name;
        // Null until it happens first.
        std::array<std::unique_ptr<base::duration_histogram>, outcome::count> by_outcome;
    };
    // Things that are counted by name.
    struct named_rows {
        std::deque<counted> all;  // the first one is `other`
        std::unordered_map<std::string_view, std::uint32_t, base::bytes_hash, std::equal_to<>>
            index;  // names belong to their rows

        named_rows() { all.emplace_back().name = "_other"; }
        std::uint32_t row_of(std::string_view name);
    };
    static void collect(base::metrics_page& to, method_id method, const counted& from);

    std::array<counted, methods> methods_;
    named_rows tools_;
    named_rows prompts_;
    base::duration_histogram deadline_lateness_;
};

}  // namespace pillion::mcp
