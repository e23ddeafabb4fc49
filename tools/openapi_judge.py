"""The description that GitHub publishes of its interface (from npm) as tools: what becomes of each
of its operations, held against a reading of our own. Part of the suite `judges`, whose npm cache
it uses."""

import json
import tempfile

from jsonschema import Draft202012Validator

from harness import ROOT, SHARED, run

PROGRAM = ROOT / "build/release/openapi-filter"
FILTER = ROOT / "build/release/schema-filter"
PACKAGE = "@octokit/openapi@23.0.2"
FILE = "node_modules/@octokit/openapi/generated/api.github.com.json"
INSTALL_S = 300
IMPORT_S = 60  # it takes a quarter of a second
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Served by another host than the rest.
SKIPPED = {"POST /repos/{owner}/{repo}/releases/{release_id}/assets"}
# Examples of theirs that are not what their own schema says.
BAD_EXAMPLES = {
    "PATCH /gists/{gist_id} deleteFile",
    "POST /orgs/{org}/issue-fields default",
    "POST /orgs/{org}/projectsV2/{project_number}/fields single_select_field",
    "PATCH /repos/{owner}/{repo}/security-advisories/{ghsa_id} update_vvrs",
    "PUT /user/codespaces/secrets/{secret_name}/repositories default",
    "POST /user/keys default",
    "POST /user/ssh_signing_keys default",
    "POST /users/{username}/projectsV2/{project_number}/fields single_select_field",
}


def resolve(document, value):
    while isinstance(value, dict) and "$ref" in value:
        reference, value = value["$ref"], document
        for token in reference[2:].split("/"):
            value = value[token.replace("~1", "/").replace("~0", "~")]
    return value


class operation:
    """What the description says of one."""

    def __init__(self, document, path, item, method):
        what = item[method]
        self.name = f"{method.upper()} {path}"
        self.parameters = {}
        for one in item.get("parameters", []) + what.get("parameters", []):
            one = resolve(document, one)
            self.parameters[(one["in"], one["name"])] = one
        body = resolve(document, what.get("requestBody", {}))
        self.body_required = body.get("required", False)
        media = body.get("content", {}).get("application/json", {})
        self.has_json = "application/json" in body.get("content", {})
        self.examples = {name: resolve(document, one).get("value")
                         for name, one in media.get("examples", {}).items()}
        if "example" in media:
            self.examples["example"] = media["example"]

    def names(self, place):
        return {name for where, name in self.parameters if where == place}


def judge_tool(count, of, tool):
    """Everything that the tool says, and nothing else."""
    schema, title = tool["input"], f"OpenAPI {of.name}"
    Draft202012Validator.check_schema(schema)
    required = set(schema["required"])
    wanted = {name for (_, name), one in of.parameters.items()
              if one.get("required") or one["in"] == "path"}
    if of.has_json and of.body_required or tool["sends"] == "text":
        wanted.add("body")
    arguments = {name for _, name in of.parameters}
    if tool["sends"] != "none":
        arguments.add("body")
    count.check(f"{title}: arguments", set(schema["properties"]) == arguments, str(schema))
    count.check(f"{title}: required ones", required == wanted, f"{required} is not {wanted}")
    count.check(f"{title}: request", tool["path"] == of.name.split(" ")[1] and
                set(tool["query"]) == of.names("query") and
                set(tool["headers"]) - {"accept"} == of.names("header") and
                (tool["sends"] == "one") == of.has_json, str(tool))


def judge_examples(count, pairs):
    """The bodies that the description shows must be good arguments: titles, schemas, bodies."""
    lines = "".join(json.dumps({"schema": {**schema, "$schema": DIALECT}, "data": {"body": body}})
                    + "\n" for _, schema, body in pairs)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(lines)
        file.flush()
        _, output = run(["bash", "-c", '"$0" <"$1"', FILTER, file.name], IMPORT_S)
    answers = output.split("\n")
    for (title, _, body), answer in zip(pairs, answers):
        count.check(f"OpenAPI example {title}", (answer == "true") != (title in BAD_EXAMPLES),
                    f"{answer}: {json.dumps(body)}")


def openapi(count, home):
    code, output = run(["bash", "-c", '. "$0/_lib.sh"; npm_dir openapi-1 "$@"', SHARED / "judges",
                        PACKAGE], INSTALL_S, env={"JUDGES_HOME": str(home)})
    if code != 0:
        return count.skip("GitHub's OpenAPI description",
                          "npm cannot install it: " + output[-200:])
    path = f"{output.strip().split(chr(10))[-1]}/{FILE}"
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    operations = {}
    for route, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                one = operation(document, route, item, method)
                operations[one.name] = one
    code, output = run([PROGRAM, path, "5000"], IMPORT_S)
    lines = [json.loads(line) for line in output.strip().split("\n")] if code == 0 else []
    if not lines:
        return count.fail("OpenAPI import", output)
    tools = {line["operation"]: line for line in lines if "tool" in line}
    skipped = {line["operation"] for line in lines if line.get("skipped") is True}
    count.check("OpenAPI: each operation is a tool or is told of",
                set(tools) | skipped == set(operations) and not set(tools) & skipped, output)
    count.check("OpenAPI: what is skipped", skipped == SKIPPED, str(skipped))
    count.check("OpenAPI: counts", lines[-1]["operations"] == len(operations) and
                lines[-1]["tools"] == len(tools), str(lines[-1]))
    count.check("OpenAPI: names", len({tool["tool"] for tool in tools.values()}) == len(tools))
    pairs = []
    for name, tool in tools.items():
        judge_tool(count, operations[name], tool)
        body_alone = {key: tool["input"].get(key, {}) for key in ("properties", "$defs")}
        pairs += [(f"{name} {key}", body_alone, body)
                  for key, body in operations[name].examples.items() if body is not None]
    judge_examples(count, pairs)
