#include "base/metrics_page.hpp"

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"

namespace pillion::base {

namespace {

// Backslash, quote and line feed are escaped (the format's rules for label values).
std::string text_of(metrics_page::labels all) {
    std::string text;
    for (const auto& [name, value] : all) {
        if (value.empty()) {
            continue;
        }
        text += text.empty() ? "" : ",";
        text.append(name).append("=\"");
        for (const char c : value) {
            if (c == '\n') {
                text += "\\n";
                continue;
            }
            if (c == '\\' || c == '"') {
                text += '\\';
            }
            text += c;
        }
        text += '"';
    }
    return text;
}

template <class Number>
void append_number(byte_buffer& to, Number value) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    to.append({digits, static_cast<std::size_t>(end - digits)});
}

// "name_suffix{labels} ", or with one more label behind the others.
void begin_line(byte_buffer& to, std::string_view name, std::string_view suffix,
                std::string_view labels, std::string_view le = {}) {
    to.append(name);
    to.append(suffix);
    if (!labels.empty() || !le.empty()) {
        to.append('{');
        to.append(labels);
        if (!le.empty()) {
            to.append(labels.empty() ? "le=\"" : ",le=\"");
            to.append(le);
            to.append('"');
        }
        to.append('}');
    }
    to.append(' ');
}

}  // namespace

metrics_page::family& metrics_page::family_of(std::string_view name, std::string_view help,
                                              kind of) {
    if (last_ >= families_.size() || families_[last_].name != name) {
        const auto at = std::find_if(families_.begin(), families_.end(),
                                     [name](const family& f) { return f.name == name; });
        last_ = static_cast<std::size_t>(at - families_.begin());
        if (at == families_.end()) {
            families_.push_back({name, help, of});
        }
    }
    PILLION_ASSERT(families_[last_].of == of);
    return families_[last_];
}

metrics_page::sample& metrics_page::sample_of(std::string_view name, std::string_view help, kind of,
                                              labels l) {
    return family_of(name, help, of).samples[text_of(l)];
}

void metrics_page::add_to(sample& to, const sample& from, kind of) {
    to.count += from.count;
    to.value = of == kind::highest ? std::max(to.value, from.value) : to.value + from.value;
    if (from.durations != nullptr) {
        if (to.durations == nullptr) {
            to.durations = std::make_unique<duration_histogram>();
        }
        to.durations->add(*from.durations);
    }
}

void metrics_page::counter(std::string_view name, std::string_view help, std::uint64_t value,
                           labels of) {
    sample_of(name, help, kind::counter, of).count += value;
}

void metrics_page::counter_seconds(std::string_view name, std::string_view help, double value) {
    sample_of(name, help, kind::seconds, {}).value += value;
}

void metrics_page::gauge(std::string_view name, std::string_view help, double value, labels of) {
    sample_of(name, help, kind::gauge, of).value += value;
}

void metrics_page::highest(std::string_view name, std::string_view help, double value, labels of) {
    double& so_far = sample_of(name, help, kind::highest, of).value;
    so_far = std::max(so_far, value);
}

void metrics_page::histogram(std::string_view name, std::string_view help,
                             const duration_histogram& value, labels of) {
    auto& durations = sample_of(name, help, kind::histogram, of).durations;
    if (durations == nullptr) {
        durations = std::make_unique<duration_histogram>();
    }
    durations->add(value);
}

void metrics_page::add(const metrics_page& other) {
    for (const family& f : other.families_) {
        family& mine = family_of(f.name, f.help, f.of);
        for (const auto& [key, value] : f.samples) {
            add_to(mine.samples[key], value, f.of);
        }
    }
}

void metrics_page::render_histogram(byte_buffer& to, std::string_view name, std::string_view key,
                                    const duration_histogram& value) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < duration_histogram::buckets; ++i) {
        so_far += value.count_in(i);
        begin_line(
            to, name, "_bucket", key,
            i < duration_histogram::bounds.size() ? duration_histogram::bounds[i].seconds : "+Inf");
        append_number(to, so_far);
        to.append('\n');
    }
    begin_line(to, name, "_sum", key);
    append_number(to, static_cast<double>(value.sum_ns()) / 1e9);
    to.append('\n');
    begin_line(to, name, "_count", key);
    append_number(to, so_far);
    to.append('\n');
}

void metrics_page::render(byte_buffer& to) const {
    static constexpr std::string_view types[] = {"counter", "counter", "gauge", "gauge",
                                                 "histogram"};
    for (const family& f : families_) {
        to.append("# HELP ");
        to.append(f.name);
        to.append(' ');
        to.append(f.help);
        to.append("\n# TYPE ");
        to.append(f.name);
        to.append(' ');
        to.append(types[static_cast<std::size_t>(f.of)]);
        to.append('\n');
        for (const auto& [key, value] : f.samples) {
            if (f.of == kind::histogram) {
                render_histogram(to, f.name, key, *value.durations);
                continue;
            }
            begin_line(to, f.name, "", key);
            if (f.of == kind::counter) {
                append_number(to, value.count);
            } else {
                append_number(to, value.value);
            }
            to.append('\n');
        }
    }
}

}  // namespace pillion::base
