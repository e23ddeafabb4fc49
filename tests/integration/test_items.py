"""What the configuration says of single tools, prompts and resources: effects and icons."""

import json
import pathlib
import re
import sys
import time

import pytest

from bridged_server import NAMES
from mcp_client import Stdio
from scripted_server import http, message
from server_process import ROOT, pillion_bin, run_program, wait_until

pytestmark = pytest.mark.asan

BRIDGED = pathlib.Path(__file__).with_name("bridged_server.py")
EXTERNAL = ("{idempotency: the argument number, retries: with the same number, "
            "timeout: it may have happened, audit: note.added, approval: the user's}")
TOLD = ("Side effects: adds a note\nRisk: medium\nIdempotency: the argument number\n"
        "Retries: with the same number\nTimeout: it may have happened\nAudit: note.added\n"
        "Approval: the user's")
TOOL = """
tools:
  touch_file:
    description: Makes a file.
    command: {{argv: [touch, '{{path}}']}}
    {touch}
  add_note:
    description: Adds a note.
    open_world: true
    http: {{upstream: up, method: POST, path: /notes}}
    {note}
  put_it:
    {put}
upstreams: {{up: {{url: 'http://127.0.0.1:1'}}}}
openapi: {{api: {{file: api.json, upstream: up}}}}
"""
API = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/it": {
    "put": {"operationId": "put_it", "summary": "Puts it.", "responses": {}},
    "get": {"operationId": "get_it", "summary": "Gets it.", "responses": {}}}}}


def written(folder, touch="", note="", put="timeout: 5s"):
    (folder / "api.json").write_text(json.dumps(API), encoding="utf-8")
    config = folder / "items.yaml"
    config.write_text(TOOL.format(touch=touch, note=note, put=put), encoding="utf-8")
    return config


def checked(config, *more):
    done = run_program(pillion_bin(), "check", config, "--profile", "corporate",
                       "--insecure-no-auth", *more)
    return done.returncode, done.stderr.decode()


def listed(client):
    tools, cursor = {}, {}
    while cursor is not None:
        page = client.request("tools/list", cursor)
        tools.update((one["name"], one) for one in page["tools"])
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    return tools


@pytest.mark.row(73, 74, 75)
def test_a_server_by_configuration_keeps_the_standard(io, tmp_path):
    code, said = checked(written(tmp_path))
    assert code == 2
    for tool in ("touch_file", "add_note", "put_it"):
        assert f'tool "{tool}": may change things (it is not read_only())' in said
    assert "missing: idempotency, retries, timeout, audit, approval" in said
    assert "get_it" not in [line for line in said.splitlines() if "corporate profile" in line][0]
    config = written(tmp_path, "risk: low",
                     f"risk: medium\n    side_effects: adds a note\n    external: {EXTERNAL}",
                     "risk: high")
    assert checked(config)[0] == 0
    for rev in "ABCD":
        pipe = Stdio(pillion_bin(), "--io", io, "--config", config, "--profile", "corporate",
                     "--root", tmp_path, rev=rev)
        pipe.open()
        tools = listed(pipe)
        assert tools["add_note"]["description"] == "Adds a note.\n" + TOLD
        assert tools["touch_file"]["description"] == "Makes a file.\nRisk: low"
        assert tools["put_it"]["description"].endswith("Puts it.\nRisk: high")
        pipe.close()


@pytest.mark.row(73, 74, 75)
def test_the_example_of_the_readme_keeps_the_standard(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [example] = [one for one in re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
                 if "place_order" in one]
    config = tmp_path / "shop.yaml"
    config.write_text(example, encoding="utf-8")
    assert checked(config)[0] == 0


@pytest.mark.row(75)
def test_one_that_is_left_out_is_named(tmp_path):
    code, said = checked(written(tmp_path, "risk: low", f"risk: low\n    external: {{audit: x}}",
                                 "risk: low"))
    assert code == 2 and "missing: idempotency, retries, timeout, approval" in said


@pytest.mark.row(74)
def test_servers_behind_this_one_keep_the_standard(io, tmp_path):
    config = tmp_path / "bridge.yaml"
    config.write_text(
        f"servers: {{inner: {{command: {sys.executable}, args: ['{BRIDGED}', D],\n"
        "                  env: {TOOLS_ALONE: '1'}}}\n"
        "tools:\n" + "".join(f"  inner__{name}: {{risk: low}}\n" for name in NAMES),
        encoding="utf-8")
    pipe = Stdio(pillion_bin(), "--io", io, "--config", config, "--profile", "corporate",
                 "--root", tmp_path, rev="D")
    pipe.open()
    wait_until(lambda: "inner__echo" in listed(pipe))
    assert listed(pipe)["inner__echo"]["description"] == "d\nRisk: low"
    pipe.close()


def test_icons_where_the_revision_knows_them(start_pillion, make_client, rev, tmp_path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "p.md").write_text("Say it.\n", encoding="utf-8")
    (tmp_path / "files").mkdir()
    (tmp_path / "api.json").write_text(json.dumps(API), encoding="utf-8")
    config = tmp_path / "icons.yaml"
    config.write_text(f"""
tools:
  made:
    description: Makes.
    icons: {{src: 'data:image/png;base64,AAAA', mime_type: image/png, sizes: [48x48, any],
            theme: dark}}
    command: {{argv: ['true']}}
  echo: {{icons: [{{src: 'https://x.example/echo.png'}}]}}
  get_it: {{icons: [{{src: 'https://x.example/own.png'}}]}}
prompts: {{p: {{icons: [{{src: 'https://x.example/p.png', theme: light}}]}}}}
resources: {{'project://version': {{icons: [{{src: 'https://x.example/v.png'}}]}}}}
folders: {{f: {{path: files, icons: [{{src: 'https://x.example/f.png'}}]}}}}
upstreams: {{up: {{url: 'http://127.0.0.1:1'}}}}
openapi: {{api: {{file: api.json, upstream: up, icons: {{src: 'https://x.example/api.png'}}}}}}
servers: {{inner: {{command: {sys.executable}, args: ['{BRIDGED}', D]}}}}
""", encoding="utf-8")
    server = start_pillion("--config", config, "--root", tmp_path, "--prompts",
                           tmp_path / "prompts")
    client = make_client(rev, server).open()
    wait_until(lambda: "inner__echo" in listed(client))
    tools = listed(client)
    prompt = next(one for one in client.request("prompts/list")["prompts"] if one["name"] == "p")
    version = next(one for one in client.request("resources/list")["resources"]
                   if one["uri"] == "project://version")
    folder = next(one for one in client.request("resources/templates/list")["resourceTemplates"]
                  if one["name"] == "f")
    found = [one.get("icons") for one in (
        tools["made"], tools["echo"], tools["get_it"], tools["put_it"], tools["inner__echo"],
        tools["inner__ask"], prompt, version, folder)]
    if rev in "ABC":
        assert found == [None] * 9
        return

    def at(name, **more):
        return [{"src": f"https://x.example/{name}.png", **more}]
    assert found == [
        [{"src": "data:image/png;base64,AAAA", "mimeType": "image/png", "sizes": ["48x48", "any"],
          "theme": "dark"}],
        at("echo"), at("own"), at("api"),
        at("bridged", mimeType="image/png", sizes=["16x16"], theme="light"), None,
        at("p", theme="light"), at("v"), at("f")]


def test_a_reload_exchanges_what_is_said(start_pillion, make_client, tmp_path):
    config = written(tmp_path, "risk: low")
    server = start_pillion("--config", config, "--root", tmp_path)
    client = make_client("E", server).open()
    assert listed(client)["touch_file"]["description"] == "Makes a file.\nRisk: low"
    written(tmp_path, "risk: high\n    icons: {src: 'https://x.example/i.png'}", put="risk: low")
    server.wait_for_log("config.reloaded")
    touch = listed(client)["touch_file"]
    assert touch["description"] == "Makes a file.\nRisk: high"
    assert touch["icons"] == [{"src": "https://x.example/i.png"}]
    # Of a tool that is made elsewhere it waits, and is named.
    server.wait_for_log("config.needs_restart keys=tools")


def test_what_a_reload_names_is_watched_from_then_on(start_pillion, make_client, tmp_path):
    """Files that came with a reload were not looked at until a restart; those of before were."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    config = tmp_path / "watched.yaml"

    def name(folder):
        config.write_text(f"prompt_files: {{folders: ['{folder}']}}\n", encoding="utf-8")

    def write(folder, prompt):
        (folder / f"{prompt}.md").write_text(f"Say {prompt}.\n", encoding="utf-8")

    def prompts():
        return {one["name"] for one in client.request("prompts/list")["prompts"]}
    name(folders[0])
    server = start_pillion("--config", config, "--root", tmp_path)
    client = make_client("E", server).open()
    write(folders[0], "one")
    wait_until(lambda: "one" in prompts())
    name(folders[1])
    wait_until(lambda: "one" not in prompts())
    # Between the reading of a folder and its watch, on a busy machine: that was lost once.
    write(folders[1], "two")
    wait_until(lambda: "two" in prompts())
    # The configuration is still one of them, and the folder of before is not.
    def reloads():
        return sum("config.reloaded" in line for line in server.log)
    time.sleep(1)  # longer than files must rest
    before = reloads()
    write(folders[0], "three")
    time.sleep(1)
    assert reloads() == before
    name(folders[0])
    wait_until(lambda: {"one", "three"} <= prompts())


def test_what_changes_while_servers_come_up_is_read(start_pillion, make_client, scripted, tmp_path):
    """It was lost, up to 20 s long: the files were watched when all servers had come up."""
    folder = tmp_path / "prompts"
    folder.mkdir()

    def script(request):
        if request.serial == 0:
            (folder / "late.md").write_text("Say late.\n", encoding="utf-8")
        return http(message(request))
    config = tmp_path / "late.yaml"
    config.write_text(f"prompt_files: {{folders: ['{folder}']}}\n"
                      f"servers: {{inner: {{url: '{scripted(script).url}'}}}}\n", encoding="utf-8")
    server = start_pillion("--config", config, "--root", tmp_path)
    client = make_client("E", server).open()
    wait_until(lambda: "late" in
               {one["name"] for one in client.request("prompts/list")["prompts"]})
