"""The page's modules outside a browser, under Node."""

import json
import shutil
import subprocess
from base64 import b64encode
from importlib.resources import files
from pathlib import Path

PAGE = Path(str(files("sottovoce"))) / "device" / "page"
TEXTS = Path(str(files("sottovoce"))) / "texts"
DRIVER = Path(__file__).parent / "browser" / "modules_driver.mjs"


def modules_in(folder):
    """Ask the page's modules, under Node: a name and the questions give the answers."""
    node = shutil.which("node")
    assert node, "there is no Node: install it with 'apt-get install nodejs' (make test does, where it may)"
    # Their own folder, which declares what kind of modules they are.
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    shutil.copytree(TEXTS, folder / "texts", dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')

    def ask(name, asked):
        questions = {"folder": str(folder), "questions": [[name, one] for one in asked]}
        done = subprocess.run([node, DRIVER], input=json.dumps(questions), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def sent(manifest):
    return b64encode(manifest.bytes()).decode()
