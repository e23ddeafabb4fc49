#include "base/metrics_page.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/process_stats.hpp"

namespace pillion::base {
namespace {

std::string text_of(const metrics_page& page) {
    chunk_pool pool;
    byte_buffer out(pool);
    page.render(out);
    return std::string(out.view());
}

std::string without_comments(const std::string& text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at) + 1;
        if (text[at] != '#') {
            kept += text.substr(at, end - at);
        }
        at = end;
    }
    return kept;
}

TEST(duration_histogram, a_duration_belongs_to_the_first_bucket_whose_bound_it_does_not_exceed) {
    for (std::size_t i = 0; i < duration_histogram::bounds.size(); ++i) {
        const std::int64_t bound = duration_histogram::bounds[i].ns;
        EXPECT_DOUBLE_EQ(std::stod(std::string(duration_histogram::bounds[i].seconds)) * 1e9,
                         static_cast<double>(bound));
        duration_histogram h;
        h.add(bound);
        h.add(bound + 1);
        EXPECT_EQ(h.count_in(i), 1U) << bound;
        EXPECT_EQ(h.count_in(i + 1), 1U) << bound;
        EXPECT_EQ(h.count(), 2U);
        EXPECT_EQ(h.sum_ns(), 2 * bound + 1);
    }
}

TEST(duration_histogram, two_add_up) {
    duration_histogram a;
    duration_histogram b;
    a.add(1);
    b.add(1);
    b.add(INT64_MAX / 2);
    a.add(b);
    EXPECT_EQ(a.count_in(0), 2U);
    EXPECT_EQ(a.count_in(duration_histogram::buckets - 1), 1U);
}

TEST(metrics_page, every_family_says_its_help_and_type_once) {
    metrics_page page;
    page.counter("a_total", "Counts a.", 1, {{"of", "x"}});
    page.gauge("b", "Is b.", 0.5);
    page.counter("a_total", "Counts a.", 2, {{"of", "y"}});
    EXPECT_EQ(text_of(page),
              "# HELP a_total Counts a.\n# TYPE a_total counter\n"
              "a_total{of=\"x\"} 1\na_total{of=\"y\"} 2\n"
              "# HELP b Is b.\n# TYPE b gauge\nb 0.5\n");
}

TEST(metrics_page, pages_add_up_by_name_and_labels) {
    metrics_page one;
    metrics_page two;
    for (metrics_page* page : {&one, &two}) {
        page->counter("n_total", "n", 1ULL << 62U, {{"k", "same"}});
        page->gauge("g", "g", 1.25);
        page->highest("h", "h", page == &one ? 3 : 7);
    }
    two.counter("n_total", "n", 5, {{"k", "other"}});
    two.counter_seconds("s_total", "s", 0.75);
    one.add(two);
    EXPECT_EQ(without_comments(text_of(one)),
              "n_total{k=\"other\"} 5\nn_total{k=\"same\"} 9223372036854775808\n"
              "g 2.5\nh 7\ns_total 0.75\n");
}

TEST(metrics_page, buckets_are_cumulative_and_the_last_is_the_count) {
    duration_histogram h;
    h.add(50'000);
    h.add(200'000);
    h.add(1'000'000'000'000);
    metrics_page page;
    page.histogram("d", "d", h, {{"k", "v"}});
    metrics_page twice;
    twice.add(page);
    twice.add(page);
    const std::string text = text_of(twice);
    for (const char* line : {"d_bucket{k=\"v\",le=\"0.0001\"} 2\n", "le=\"0.0002\"} 4\n",
                             "le=\"300\"} 4\n", "le=\"+Inf\"} 6\n", "d_count{k=\"v\"} 6\n",
                             "d_sum{k=\"v\"} 2000.0005\n", "# TYPE d histogram\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
}

// A tool may be called anything.
TEST(metrics_page, no_name_breaks_out_of_its_label) {
    metrics_page page;
    page.gauge("g", "g", 1, {{"name", "a\"} 1\nevil 7\n#\\"}, {"none", ""}});
    EXPECT_EQ(without_comments(text_of(page)), "g{name=\"a\\\"} 1\\nevil 7\\n#\\\\\"} 1\n");
}

TEST(process_stats, say_what_the_system_says) {
    metrics_page page;
    collect_process(page);
    show_memory(page, "a", 1);
    show_memory(page, "a", 2);
    const std::string text = text_of(page);
    const auto value = [&](const std::string& name) {
        const std::size_t at = text.find("\n" + name + " ");
        EXPECT_NE(at, std::string::npos) << name;
        return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
    };
    EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
    EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
    EXPECT_GE(value("process_open_fds"), 3);
    EXPECT_GT(value("process_max_fds"), value("process_open_fds"));
    EXPECT_GT(value("process_cpu_seconds_total"), 0);
    const auto now = static_cast<double>(::time(nullptr));
    EXPECT_LE(value("process_start_time_seconds"), now + 1);
    EXPECT_GT(value("process_start_time_seconds"), now - 3600);
    EXPECT_EQ(value("pillion_memory_bytes{owner=\"a\"}"), 3);
}

}  // namespace
}  // namespace pillion::base
