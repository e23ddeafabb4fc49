#include "app/reloader.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "app/config_reader.hpp"
#include "app/tool_settings.hpp"
#include "base/log.hpp"

namespace pillion::app {

namespace {

std::string folder_of(const std::string& file) {
    const std::size_t slash = file.rfind('/');
    return slash == file.npos ? "" : slash == 0 ? "/" : file.substr(0, slash);
}

// What is in force: the value, or the default.
config_value in_force(const config_key& key, const config_value& value) {
    config_value out = value;
    if (!value.given && !key.fallback.empty()) {
        parse_value(key, key.fallback, out);
    }
    return out;
}

bool same(const config_key& key, const config_value& left, const config_value& right) {
    const config_value a = in_force(key, left);
    const config_value b = in_force(key, right);
    return a.number == b.number && (a.number != 0 || a.texts == b.texts);
}

// Whether what is said of something that has a name counts at the start only. Tools that the
// configuration makes are made anew.
bool counts_at_start(const named_values& one) {
    return one.section != principals_section && !makes_tool(one) &&
           (is_about_others(one.section) || one.section == folders_section);
}

std::vector<named_values> waiting_of(const config_values& all, const std::string& section) {
    std::vector<named_values> found;
    std::copy_if(all.named.begin(), all.named.end(), std::back_inserter(found),
                 [&section](const named_values& one) {
                     return one.section == section && counts_at_start(one);
                 });
    return found;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool same_value(const config_value& a, const config_value& b) {
    return a.given == b.given && a.number == b.number && a.texts == b.texts &&
           std::equal(a.inside.begin(), a.inside.end(), b.inside.begin(), b.inside.end(),
                      same_value);
}

bool same_named(const std::vector<named_values>& left, const std::vector<named_values>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [&](const named_values& a, const named_values& b) {
                          return a.name == b.name && std::equal(a.values.begin(), a.values.end(),
                                                                b.values.begin(), same_value);
                      });
}

// Whether a key counts at the start only: always, or because it would turn on or off what whoever
// listens depends on. Where we are seen, clients are told without tokens as well.
bool counts_at_start(const config_key& key, const settings& running, const settings& next) {
    const auto turned = [](const auto& a, const auto& b) {
        return (a == nullptr) != (b == nullptr);
    };
    return !key.live || (key.section == "tls" && turned(running.tls, next.tls)) ||
           (key.section == "auth" && (key.name != "external_url" || running.asks_for_tokens()) &&
            running.asks_for_tokens() != next.asks_for_tokens()) ||
           (key.path() == "metrics.users" && turned(running.metrics_users, next.metrics_users));
}

// The keys that wait for a restart, by their places in the table.
std::vector<bool> waiting_keys(const configuration& running, const configuration& next) {
    std::vector<bool> waiting(next.keys.size());
    for (std::size_t i = 0; i < next.keys.size(); ++i) {
        waiting[i] = counts_at_start(next.keys[i], *running.made, *next.made) &&
                     !same(next.keys[i], running.values[i], next.values[i]);
    }
    return waiting;
}

std::string names_of(const std::vector<bool>& waiting, const configuration& running,
                     const configuration& next) {
    std::string names;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i]) {
            names += (names.empty() ? "" : ", ") + next.keys[i].path();
        }
    }
    for (const char* const section : named_sections) {
        if (!same_named(waiting_of(running.values, section), waiting_of(next.values, section))) {
            names.append(names.empty() ? "" : ", ").append(section);
        }
    }
    return names;
}

bool names_it(const std::vector<named_values>& all, const named_values& it) {
    return std::any_of(all.begin(), all.end(), [&it](const named_values& one) {
        return one.section == it.section && one.name == it.name;
    });
}

// A rule about something that had none. It may be about what the same edit brings, which must not
// be offered without it; of what there is already it counts after a restart (apply_operator_*).
bool is_new_rule(const named_values& one, const std::vector<named_values>& before) {
    return is_about_others(one.section) && one.section != "methods" && !names_it(before, one);
}

// What counts until a restart: of what waits for one the running values, else the new ones.
config_values until_restart(const std::vector<bool>& waiting, const configuration& running,
                            const configuration& next) {
    config_values all = next.values;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i] || !next.keys[i].live) {
            all[i] = running.values[i];
            // Those of the running value are in the file as it was.
            all[i].places = waiting[i] ? std::vector<file_place>() : next.values[i].places;
        }
    }
    const std::vector<named_values>& before = running.values.named;
    std::erase_if(all.named, [&before](const named_values& one) {
        return counts_at_start(one) && !is_new_rule(one, before);
    });
    const std::vector<named_values> made = all.named;
    std::copy_if(before.begin(), before.end(), std::back_inserter(all.named),
                 [&made](const named_values& one) {
                     // A tool that the file makes now is another one.
                     return counts_at_start(one) && !names_it(made, one);
                 });
    return all;
}

settings settings_of(const configuration& from, const config_values& values,
                     config_faults& faults) {
    settings made = make_settings(from.keys, values, folder_of(from.file), from.serving, faults);
    if (!from.file.empty()) {
        made.watched.push_back(from.file);
    }
    return made;
}

// Says as it ends that a reload is in force, and what of it is not.
class last_word {
 public:
    last_word(std::string file, std::string waiting)
        : file_(std::move(file)), waiting_(std::move(waiting)) {}
    last_word(const last_word&) = delete;
    last_word& operator=(const last_word&) = delete;
    ~last_word() {
        log::info("config.reloaded", {log::kv_unless_empty("file", file_)});
        if (!waiting_.empty()) {
            log::warn("config.needs_restart", {log::kv("keys", waiting_)});
        }
    }

 private:
    std::string file_;
    std::string waiting_;
};

}  // namespace

bool read_values(configuration& to, config_faults& faults) {
    const std::size_t before = faults.size();
    config_values from_file(to.keys.size());
    std::string text;
    std::string why;
    if (!to.file.empty()) {
        if (!read_whole_file(to.file, text, why)) {
            faults.push_back({{}, "--config: " + shown_path(to.file) + ": " + why});
            return false;
        }
        from_file = read_config(text, to.keys, process_environment(), faults);
    }
    const config_values variables = read_environment(to.keys, process_environment());
    from_file = merged(to.keys, std::move(from_file), variables);
    to.values = merged(to.keys, std::move(from_file), to.flags);
    return faults.size() == before;
}

bool load(configuration& to, config_faults& faults) {
    const std::size_t before = faults.size();
    read_values(to, faults);
    if (to.values.empty()) {
        return false;  // the file could not be read
    }
    to.made = std::make_shared<const settings>(settings_of(to, to.values, faults));
    return faults.size() == before;
}

// The new settings were good for a restart. Until then some of the running values count, so they
// are made, and with that checked, once more together with these: what is safe beside a new
// address, or a new profile, need not be safe beside the old one.
bool reloader::attempt::make(const configuration& running) {
    if (!load(next, faults)) {
        return false;
    }
    waiting = waiting_keys(running, next);
    waiting_names = names_of(waiting, running, next);
    settings made = waiting_names.empty()
                        ? *next.made
                        : settings_of(next, until_restart(waiting, running, next), faults);
    for (config_fault& one : faults) {
        one.text += "; until a restart these stay as they are: " + waiting_names;
    }
    keep_fixed(made, *running.made);
    next.made = std::make_shared<const settings>(std::move(made));
    return faults.empty();
}

void reloader::request(io::offload& helpers, io::reactor& home, change apply) {
    if (now_.file.empty() && now_.made->watched.empty()) {
        return log::info("config.nothing_to_reload", {});
    }
    if (busy_) {
        again_ = true;
        return;
    }
    auto shared = std::make_shared<attempt>();
    shared->next.keys = now_.keys;
    shared->next.file = now_.file;
    shared->next.flags = now_.flags;
    shared->next.serving = now_.serving;
    busy_ = helpers.submit(
        home,
        // While it is busy, nobody changes what runs.
        [shared, running = &now_, offers = &offer_] {
            std::string why;
            shared->good = shared->make(*running);
            if (shared->good && !(*offers)(*running->made, *shared->next.made, why)) {
                shared->good = false;
                shared->faults.push_back({{}, why});
            }
        },
        [this, shared, &helpers, &home, apply] {
            busy_ = false;
            finish(*shared, apply);
            if (std::exchange(again_, false)) {
                request(helpers, home, apply);
            }
        });
    if (!busy_) {
        log::error("config.refused", {log::kv("first", "too much blocking work is waiting")});
    }
}

void reloader::finish(attempt& done, const change& apply) {
    if (!done.good) {
        const std::string first =
            done.faults.empty() ? "not read" : describe(done.faults.front(), now_.file);
        log::error("config.refused",
                   {log::kv_unless_empty("file", now_.file), log::kv("first", first),
                    log::kv("faults", done.faults.size())});
        return apply(nullptr, nullptr);
    }
    // What waits for a restart goes on to differ from what runs: the next reload says it again.
    for (std::size_t i = 0; i < now_.keys.size(); ++i) {
        if (now_.keys[i].live && !done.waiting[i]) {
            now_.values[i] = std::move(done.next.values[i]);
        }
    }
    now_.made = done.next.made;
    apply_log(*now_.made);
    apply(now_.made, std::make_shared<const last_word>(now_.file, done.waiting_names));
}

}  // namespace pillion::app
