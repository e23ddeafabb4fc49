// reloader: keeps what the command line and the configuration file said, and reads the file again
// when SIGHUP asks for it. New settings are handed out whole, or not at all.
//
// Thread: request() and running() belong to one event loop; the file is read on a helper thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/config_keys.hpp"
#include "app/config_value.hpp"
#include "app/settings.hpp"
#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"

namespace pillion::app {

// The command line and the file, both read and without fault.
struct configuration {
    config_table keys;
    std::string file;  // empty: none
    config_values flags;
    config_values values;  // the file's, with the flags' over them
    bool serving = true;
    std::shared_ptr<const settings> made;

    configuration() {}  // NOLINT(modernize-use-equals-default): no aggregate
};

// Reads the file of `to` and the environment, and merges the flags: all that was said, before
// anything is made of it. False with faults.
bool read_values(configuration& to, config_faults& faults);

// Reads the file of `to`, merges the flags and makes its settings. False with faults.
bool load(configuration& to, config_faults& faults);

class reloader {
 public:
    using settings_ref = std::shared_ptr<const settings>;
    // Held while some thread has still to take the new settings; the last one to let go of it says
    // in the log that they are in force. Thread-safety: any thread may let go.
    using in_force = std::shared_ptr<const void>;
    using change = std::function<void(const settings_ref& to, const in_force& all)>;

    // Puts into force what the server offers by other settings, or says why it cannot; on a helper
    // thread, one at a time.
    using offer = std::function<bool(const settings& from, const settings& to, std::string& fault)>;

    reloader(configuration start, offer offers)
        : now_(std::move(start)), offer_(std::move(offers)) {}

    const settings_ref& running() const noexcept { return now_.made; }

    // Reads the file again; when it is good, `apply` runs on `home` with the new settings, else the
    // log says why, all stays as it is, and `apply` is given nulls. Asked again meanwhile, it reads
    // once more.
    void request(io::offload& helpers, io::reactor& home, change apply);
    // Whether a reading is under way: `home` must not end before.
    bool busy() const noexcept { return busy_; }

 private:
    struct attempt {
        configuration next;
        std::vector<bool> waiting;  // for a restart: keys, by their places in the table
        std::string waiting_names;
        config_faults faults;
        bool good = false;

        // Reads what was said into `next`, and makes the settings that count until a restart.
        // False with faults.
        bool make(const configuration& running);
    };
    void finish(attempt& done, const change& apply);

    configuration now_;
    offer offer_;
    bool busy_ = false;
    bool again_ = false;
};

}  // namespace pillion::app
