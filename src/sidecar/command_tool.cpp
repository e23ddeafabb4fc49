#include "sidecar/command_tool.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <memory>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/utf8.hpp"
#include "json/document.hpp"
#include "mcp/engine.hpp"
#include "mcp/request.hpp"
#include "sidecar/command_line.hpp"
#include "sidecar/command_run.hpp"
#include "sidecar/environment.hpp"
#include "sidecar/rpc_peer.hpp"

namespace pillion::sidecar {

namespace {

using detail::request_state;

struct prepared_command {
    command_spec spec;
    command_line line;
};

class descriptor {
 public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    int get() const noexcept { return fd_; }

 private:
    int fd_;
};

// What it reads: memory with the arguments, or nothing. There is no pipe that could fill up.
int open_input(const command_spec& spec, json::view arguments) {
    if (spec.standard_input == command_spec::input::none) {
        return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    const std::string text = arguments.exists() ? json_text(arguments) : "{}";
    const int fd = ::memfd_create("arguments", MFD_CLOEXEC);
    std::size_t written = 0;
    while (fd >= 0 && written < text.size()) {
        const ssize_t n = ::write(fd, text.data() + written, text.size() - written);
        if (n <= 0) {
            ::close(fd);
            return -1;
        }
        written += static_cast<std::size_t>(n);
    }
    if (fd >= 0) {
        ::lseek(fd, 0, SEEK_SET);
    }
    return fd;
}

std::string said_of(const command_run& run) {
    // The tail may begin within a character.
    std::string_view bytes = run.error_tail();
    while (!bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0xc0) == 0x80) {
        bytes.remove_prefix(1);
    }
    std::string tail;
    base::utf8::sanitize(bytes, tail);
    while (tail.ends_with('\n')) {
        tail.pop_back();
    }
    return tail.empty() ? "" : "\n" + tail;
}

tool_result good_result(context& ctx, const command_spec& spec, const command_run& run) {
    if (!base::utf8::validate(run.output())) {
        return ctx.error("The command wrote something that is no text");
    }
    if (spec.standard_output == command_spec::output::text) {
        return ctx.text(run.output());
    }
    const auto parsed = json::document::parse(run.output());
    if (!parsed) {
        return ctx.error("The command wrote something that is no JSON");
    }
    tool_result out = ctx.result();
    const std::string compact = json_text(parsed->root());
    out.text(compact);
    if (parsed->root().is_object()) {
        out.structured(compact);
    }
    return out;
}

tool_result result_of(context& ctx, const command_spec& spec, const command_run& run,
                      bool by_itself) {
    if (!by_itself) {
        return ctx.error("The command was stopped");
    }
    if (run.too_large()) {
        return ctx.error("The command wrote more than ", std::to_string(spec.output_bytes_max),
                         " bytes and was stopped");
    }
    const process::exit_status& how = run.how();
    if (how.signal != 0) {
        return ctx.error("The command was killed by ", process::signal_name(how.signal),
                         said_of(run));
    }
    if (how.code != 0) {
        const auto known = spec.errors.find(how.code);
        return known != spec.errors.end() ? ctx.error(known->second)
                                          : ctx.error("The command failed with code ",
                                                      std::to_string(how.code), said_of(run));
    }
    if (run.cut()) {
        return ctx.error("The command ended, and left somebody behind who goes on writing");
    }
    return good_result(ctx, spec, run);
}

task<tool_result> run_command(std::shared_ptr<const prepared_command> what, context& ctx,
                              json::view arguments) {
    const command_spec& spec = what->spec;
    process::start_options how;
    std::string fault;
    if (!what->line.render(arguments, how.argv, fault)) {
        co_return ctx.error(fault);
    }
    how.environment = environment_of(spec.passed, spec.environment);
    how.folder = spec.folder;
    how.limits = {spec.cpu_seconds, spec.memory_bytes, spec.file_bytes, spec.open_files};
    const descriptor input(open_input(spec, arguments));
    how.input_fd = input.get();
    const command_run::bounds bounds{spec.output_bytes_max, spec.stderr_tail_bytes,
                                     spec.kill_after_ms};
    command_run run(request_state::of(ctx).engine.loop(), bounds);
    if (input.get() < 0 || !run.start(how, fault)) {
        // Why is the operator's business.
        log::error("command.not_started",
                   {log::kv("program", how.argv[0]), log::kv("reason", fault)});
        co_return ctx.error("The command cannot be started");
    }
    const bool by_itself = co_await run.finish(request_state::stop_of(ctx));
    co_return result_of(ctx, spec, run, by_itself);
}

}  // namespace

bool check(const command_spec& what, std::string& fault) {
    command_line ignored;
    return command_line::parse(what, ignored, fault);
}

std::function<task<tool_result>(context&, json::view)> command_handler(command_spec what) {
    auto prepared = std::make_shared<prepared_command>();
    std::string ignored;
    command_line::parse(what, prepared->line, ignored);
    prepared->spec = std::move(what);
    return [prepared](context& ctx, json::view arguments) {
        return run_command(prepared, ctx, arguments);
    };
}

}  // namespace pillion::sidecar
