#include "app/token_command.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <CLI/CLI.hpp>

#include "app/cli.hpp"
#include "app/config_value.hpp"
#include "app/token_files.hpp"
#include "auth/jwt.hpp"
#include "auth/token_list.hpp"
#include "auth/user_list.hpp"
#include "base/ascii.hpp"
#include "base/random.hpp"
#include "crypto/base64url.hpp"
#include "crypto/key_ring.hpp"
#include "json/document.hpp"

namespace pillion::app {

namespace {

constexpr int exit_failure = 1;
constexpr std::size_t kid_bytes_max = 64;
constexpr std::size_t opaque_bytes = 32;
constexpr std::size_t password_bytes_min = 8;
constexpr std::size_t password_bytes_max = 512;
constexpr const char* key_set_name = "jwks.json";

// The words of the command line as typed.
struct token_words {
    std::string folder;
    std::string algorithm = "ES256";
    std::string kid;
    std::string key;
    std::string issuer;
    std::vector<std::string> audiences;
    std::string subject;
    std::string scope;
    std::string expires = "1h";
    std::vector<std::string> claims;
    std::string name;
    std::vector<std::string> scopes;
    std::string append;
};

// Ids become names of files, and stand in JSON without escapes.
bool is_key_id(std::string_view text) {
    return !text.empty() && text.size() <= kid_bytes_max && text.front() != '.' &&
           text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
               return base::is_alnum(c) || c == '.' || c == '-' || c == '_';
           });
}

// "keys/dev.pem" is the key "dev".
std::string id_of(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return name.substr(0, name.rfind('.'));
}

// Whether the line could be written: a full disk is no success.
int print(const std::string& line, std::string& fault) {
    if (std::printf("%s\n", line.c_str()) < 0 || std::fflush(stdout) != 0) {
        fault = std::string("stdout: ") + std::strerror(errno);
        return exit_failure;
    }
    return 0;
}

int make_keys(const token_words& given, std::string& fault) {
    const std::string id = given.kid.empty() ? "dev" : given.kid;
    if (!is_key_id(id)) {
        fault =
            "--kid: letters, digits, dots, hyphens and underscores, at most 64, not a dot or "
            "hyphen first";
        return exit_usage;
    }
    if (::mkdir(given.folder.c_str(), 0700) != 0 && errno != EEXIST) {
        fault = shown_path(given.folder) + ": " + std::strerror(errno);
        return exit_failure;
    }
    const auto key = given.algorithm == "RS256"   ? crypto::signing_key::new_rsa()
                     : given.algorithm == "HS256" ? crypto::signing_key::new_secret()
                                                  : crypto::signing_key::new_p256();
    const std::string path = given.folder + "/" + id + (key->is_secret() ? ".secret" : ".pem");
    const std::string set = given.folder + "/" + key_set_name;
    std::string text = key->pem();
    const bool written = write_secret_file(path, text, fault);
    crypto::wipe(text.data(), text.size());
    if (!written) {
        return exit_failure;
    }
    std::string jwk = key->jwk(id);
    const bool added = add_to_key_set(set, id, jwk, fault);
    crypto::wipe(jwk.data(), jwk.size());
    if (!added) {
        ::unlink(path.c_str());
        return exit_failure;
    }
    std::fprintf(stderr, "key %s (%s), private: %s\nkey set for --oidc-jwks: %s\n", id.c_str(),
                 key->algorithm(), path.c_str(), set.c_str());
    if (key->is_secret()) {
        std::fprintf(stderr, "HS256 is for development: servers take it with --insecure-hs256\n");
    }
    return 0;
}

// One "name=value": JSON where the value is that, else a text.
const char* add_claim(const std::string& text, std::vector<std::string>& names, json::builder& to) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == text.npos || name.empty()) {
        return "--claim: is name=value";
    }
    // A token with a name twice is refused by whoever reads it.
    if (std::find(names.begin(), names.end(), name) != names.end()) {
        return "--claim: a claim that is there already";
    }
    names.push_back(name);
    const std::string value = text.substr(equals + 1);
    const auto parsed = json::document::parse(value);
    to.key(name);
    if (parsed) {
        to.value(parsed->root());
    } else {
        to.value(value);
    }
    return nullptr;
}

// The claims (RFC 7519 §4.1, RFC 9068 §2.2); null, or what is wrong.
const char* write_claims(const token_words& given, json::builder& to) {
    const auto lifetime_ms = parse_duration_ms(given.expires);
    if (!lifetime_ms || *lifetime_ms < 1000) {
        return "--expires: is a duration of a second at least, such as 30s, 5m or 2h";
    }
    const std::int64_t now_s = std::time(nullptr);
    to.begin_object().member("iss", given.issuer).key("aud");
    if (given.audiences.size() == 1) {
        to.value(given.audiences.front());
    } else {
        to.begin_array();
        for (const std::string& one : given.audiences) {
            to.value(one);
        }
        to.end_array();
    }
    to.member("sub", given.subject).member("iat", now_s);
    to.member("exp", now_s + *lifetime_ms / 1000);
    std::vector<std::string> names = {"iss", "aud", "sub", "iat", "exp"};
    if (!given.scope.empty()) {
        names.emplace_back("scope");
        to.member("scope", given.scope);
    }
    for (const std::string& one : given.claims) {
        if (const char* const wrong = add_claim(one, names, to)) {
            return wrong;
        }
    }
    to.end_object();
    return nullptr;
}

int sign_token(const token_words& given, std::string& fault) {
    json::builder claims;
    if (const char* const wrong = write_claims(given, claims)) {
        fault = wrong;
        return exit_usage;
    }
    const auto key = read_signing_key(given.key, fault);
    if (key == nullptr) {
        return exit_failure;
    }
    json::builder header;
    header.begin_object().member("alg", key->algorithm()).member("typ", "JWT");
    header.member("kid", given.kid.empty() ? id_of(given.key) : given.kid).end_object();
    std::string token =
        crypto::to_base64url(header.text()) + "." + crypto::to_base64url(claims.text());
    token += "." + crypto::to_base64url(key->sign(token));
    if (token.size() > auth::jwt_verifier::token_bytes_max) {
        fault = "the token would be larger than 8 KiB, which no server takes";
        return exit_usage;
    }
    const int code = print(token, fault);
    crypto::wipe(token.data(), token.size());
    return code;
}

std::string hex(const std::array<unsigned char, 32>& bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const unsigned char one : bytes) {
        out += digits[one >> 4U];
        out += digits[one & 15U];
    }
    return out;
}

int list_token(const token_words& given, std::string& fault) {
    std::string bytes(opaque_bytes, '\0');
    base::os_random(bytes.data(), bytes.size());
    std::string token = crypto::to_base64url(bytes);
    std::string line = given.name + " " + hex(crypto::sha256(token));
    for (const std::string& scope : given.scopes) {
        line += " " + scope;
    }
    // What a server would not read must not be written.
    const auto read = auth::token_list::parse(line, fault);
    if (!read || read->size() != 1 || read->find(token) == nullptr ||
        read->find(token)->name != given.name ||
        read->find(token)->scopes.size() != given.scopes.size()) {
        fault =
            "a name and scopes are of visible ASCII, a name has 128 characters at most and "
            "does not begin with #";
        return exit_usage;
    }
    if (given.append.empty()) {
        std::fprintf(stderr, "line for --auth-tokens or --api-keys:\n%s\ntoken, not shown again:\n",
                     line.c_str());
    } else if (!append_line(given.append, line, fault)) {
        return exit_failure;
    }
    const int code = print(token, fault);
    crypto::wipe(token.data(), token.size());
    crypto::wipe(bytes.data(), bytes.size());
    return code;
}

// The first line of stdin; false with a fault.
bool read_password(std::string& to, std::string& fault) {
    if (::isatty(STDIN_FILENO) != 0) {
        fault = "reads the password from stdin, which must not be a terminal: it would be shown";
        return false;
    }
    to.assign(password_bytes_max + 2, '\0');
    const std::size_t got = std::fread(to.data(), 1, to.size(), stdin);
    to.resize(got);
    to.resize(std::min(to.find('\n'), to.size()));
    const bool plain =
        std::none_of(to.begin(), to.end(), [](char c) { return base::is_control(c) || c == '\t'; });
    if (to.size() < password_bytes_min || to.size() > password_bytes_max || !plain) {
        fault = "a password has 8 to 512 bytes and no control characters";
        return false;
    }
    return true;
}

int make_password(const token_words& given, std::string& fault) {
    if (!auth::user_list::is_name(given.name)) {
        fault =
            "a name is of visible ASCII without a colon, has 128 characters at most and does "
            "not begin with #";
        return exit_usage;
    }
    std::string password;
    const bool good = read_password(password, fault);
    std::string line = good ? given.name + " " + crypto::password_hash::of(password).text() : "";
    crypto::wipe(password.data(), password.size());
    return good ? print(line, fault) : exit_usage;
}

void add_key_options(CLI::App& to, token_words& w) {
    CLI::App* const keys = to.add_subcommand(
        "keys", "Makes a private key, and adds its public half to a key set beside it");
    keys->add_option("--out", w.folder, "Folder for KID.pem and jwks.json; made if need be")
        ->required();
    keys->add_option("--alg", w.algorithm, "ES256, RS256, or HS256 (a secret, for development)")
        ->check(CLI::IsMember({"ES256", "RS256", "HS256"}))
        ->capture_default_str();
    keys->add_option("--kid", w.kid, "Id of the key")->default_str("dev");
}

void add_sign(CLI::App& to, token_words& w) {
    CLI::App* const sign = to.add_subcommand("sign", "Prints a signed token (JWT)");
    sign->add_option("--key", w.key, "File of the private key")->required();
    sign->add_option("--issuer", w.issuer, "iss: as --oidc-issuer has it")->required();
    sign->add_option("--audience", w.audiences, "aud: as --oidc-audience has it; repeatable")
        ->required()
        ->allow_extra_args(false);
    sign->add_option("--subject", w.subject, "sub: whose token it is")->required();
    sign->add_option("--scope", w.scope, "scope: names with blanks between them");
    sign->add_option("--expires", w.expires, "How long it is good for")->capture_default_str();
    sign->add_option("--claim", w.claims, "name=value: a further claim, JSON or text; repeatable")
        ->allow_extra_args(false);
    sign->add_option("--kid", w.kid, "Id of the key, if not its file's name");
}

void add_list(CLI::App& to, token_words& w) {
    CLI::App* const list = to.add_subcommand(
        "list", "Makes an opaque token or API key, and its line for --auth-tokens or --api-keys");
    list->add_option("NAME", w.name, "Whose token it is")->required();
    list->add_option("SCOPE", w.scopes, "What it may be used for");
    list->add_option("--append", w.append,
                     "File that gets the line; stdout then has the token and nothing else is said");
}

void add_password(CLI::App& to, token_words& w) {
    CLI::App* const password = to.add_subcommand(
        "password", "Reads a password from stdin, and prints its line for --metrics-users");
    password->add_option("NAME", w.name, "Whose password it is")->required();
}

}  // namespace

int run_token(const std::string& program, const std::vector<std::string>& arguments) {
    token_words w;
    CLI::App cli("Keys and tokens. The result stands alone on stdout.", program + " token");
    add_key_options(cli, w);
    add_sign(cli, w);
    add_list(cli, w);
    add_password(cli, w);
    cli.require_subcommand(1);
    try {
        // CLI11 takes the words last first.
        cli.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        std::fputs(cli.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& e) {
        std::fprintf(stderr, "%s: token: %s\n", program.c_str(), e.what());
        return exit_usage;
    }
    const std::string command = cli.get_subcommands().front()->get_name();
    std::string fault;
    const int code = command == "keys"       ? make_keys(w, fault)
                     : command == "sign"     ? sign_token(w, fault)
                     : command == "password" ? make_password(w, fault)
                                             : list_token(w, fault);
    if (code != 0) {
        std::fprintf(stderr, "%s: token %s: %s\n", program.c_str(), command.c_str(), fault.c_str());
    }
    return code;
}

}  // namespace pillion::app
