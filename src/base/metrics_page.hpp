// metrics_page: numbers about the server on their way to whoever watches it. Each shard puts its
// own on a page, pages are added up, and the sum is rendered as Prometheus text (format 0.0.4).
//
// A new number is one line where it is collected:
//     page.counter("pillion_things_total", "Things that were done.", things_);
// Names and help are literals and are not copied; numbers of one name and the same labels add up.
// Made for a scrape and thrown away, so it allocates. Thread: one at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_buffer.hpp"
#include "base/duration_histogram.hpp"

namespace pillion::base {

class metrics_page {
 public:
    // Names and values, in the order they are shown. One without a value is left out, as the format
    // takes a missing label and an empty one for the same.
    using labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

    // What only grows. The name ends with _total.
    void counter(std::string_view name, std::string_view help, std::uint64_t value, labels of = {});
    void counter_seconds(std::string_view name, std::string_view help, double value);
    // What goes up and down: shards add up, or the highest counts.
    void gauge(std::string_view name, std::string_view help, double value, labels of = {});
    void highest(std::string_view name, std::string_view help, double value, labels of = {});
    void histogram(std::string_view name, std::string_view help, const duration_histogram& value,
                   labels of = {});

    // Takes what another page says into this one.
    void add(const metrics_page& other);
    void render(byte_buffer& to) const;

    static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

 private:
    enum class kind : std::uint8_t { counter, seconds, gauge, highest, histogram };
    struct sample {
        std::uint64_t count = 0;
        double value = 0;
        std::unique_ptr<duration_histogram> durations;  // histograms only
    };
    struct family {
        std::string_view name;
        std::string_view help;
        kind of;
        std::map<std::string, sample> samples{};  // by their labels as text
    };

    family& family_of(std::string_view name, std::string_view help, kind of);
    sample& sample_of(std::string_view name, std::string_view help, kind of, labels l);
    static void add_to(sample& to, const sample& from, kind of);
    static void render_histogram(byte_buffer& to, std::string_view name, std::string_view key,
                                 const duration_histogram& value);

    std::vector<family> families_;
    std::size_t last_ = 0;  // the family found last: many of one come in a row
};

}  // namespace pillion::base
