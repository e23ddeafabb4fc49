#include "app/fetch.hpp"

#include <utility>

#include "io/backend_factory.hpp"
#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t turn_ns = 100'000'000;

}  // namespace

std::optional<client::answer> fetch(client::question what,
                                    std::shared_ptr<const std::string> authorities,
                                    std::string& fault) {
    std::string note;
    io::backend_options small;
    small.recv_buffers = 8;
    auto backend = io::make_backend(io::backend_mode::epoll, note, small);
    if (!backend) {
        fault = backend.error().detail;
        return std::nullopt;
    }
    io::reactor loop(std::move(*backend));
    io::blocking_pool helpers(1);
    std::optional<client::answer> said;
    {
        client::agent agent(loop, helpers);
        agent.trust(std::move(authorities));
        agent.ask(std::move(what), [&said](client::answer one) { said = std::move(one); });
        while (!said) {
            loop.run_one(turn_ns);
        }
        agent.close();
        while (!agent.idle()) {
            loop.run_one(turn_ns);
        }
    }
    static_cast<void>(loop.drain(1000));
    return said;
}

}  // namespace pillion::app
