"""Python processes that start immediately.

To import NumPy, Numba, Arrow and FastAPI takes a command one or two seconds of processor time, and hundreds of commands
are run here. So one process imports them once, all but Sottovoce itself, and forks. What is forked has its own
arguments, environment, folder, streams and number, imports Sottovoce again, and ends as any process ends.

What Python reads from its environment as it starts (``PYTHONHASHSEED``, ``PYTHONWARNINGS``) is that of the tests. Tests
of a start itself, or with options of Python's own, use `subprocess`.
"""

import array
import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path

PRELOADED = (
    "alembic.command", "alembic.config", "duckdb", "fastapi", "httpx", "jinja2", "narwhals", "numba", "pandas",
    "prometheus_client", "psycopg", "pyarrow.csv", "pyarrow.dataset", "pyarrow.feather", "pyarrow.ipc", "pyarrow.json",
    "pyarrow.parquet", "pydantic_settings", "rich.console", "rich.progress", "rich.table", "scipy.integrate",
    "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats", "segno", "sqlalchemy",
    "sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite", "sqlite3", "statistics", "typer",
    "uvicorn.lifespan.on", "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
_SOCKET = "WARM_PYTHON_SOCKET"  # its number, for those who inherit it
_LARGEST_REQUEST = 1 << 20


class Process:
    """A Python process: ``arguments`` as for ``python``, the rest as for `subprocess.Popen` as far as tests need it."""

    def __init__(self, arguments, *, cwd=None, env=None, process_group=None, stdin=None, stdout=None, stderr=None):
        self.returncode, self.stdin, self.stdout, self.stderr = None, None, None, None
        news, status = os.pipe()
        ends = [status]
        if stdin == subprocess.PIPE:
            end, own = os.pipe()
            self.stdin = os.fdopen(own, "w", encoding="utf-8")
            ends.append(end)
        else:
            ends.append(os.dup(stdin.fileno()) if stdin else os.open(os.devnull, os.O_RDONLY))
        for name, stream in (("stdout", stdout), ("stderr", stderr)):
            if stream == subprocess.PIPE:
                own, end = os.pipe()
                setattr(self, name, os.fdopen(own, encoding="utf-8"))
            elif stream == subprocess.DEVNULL:
                end = os.open(os.devnull, os.O_WRONLY)
            else:
                inherited = {"stdout": 1, "stderr": 2}[name]
                end = os.dup(ends[2] if stream == subprocess.STDOUT else stream.fileno() if stream else inherited)
            ends.append(end)
        request = {
            "arguments": [str(argument) for argument in arguments],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "process_group": process_group,
        }
        self.args = request["arguments"]
        self._news = os.fdopen(news)
        _send(_forker(), request, ends)
        self.pid = int(self._news.readline())

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._news], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = int(self._news.readline())
            self._news.close()
        return self.returncode

    def poll(self):
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure:  # it may not end by itself
            self.kill()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream:
                stream.close()
        self.wait()


def run(arguments, *, input="", timeout=300, **options):
    """Run a Python process to its end: its exit code, and what it printed."""
    with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        typed.write(input.encode())
        typed.seek(0)
        process = Process(arguments, stdin=typed, stdout=out, stderr=err, **options)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        printed = []
        for stream in (out, err):
            stream.seek(0)
            printed.append(stream.read().decode())
    return subprocess.CompletedProcess(process.args, process.returncode, *printed)


def command_on_path(folder):
    """A folder for PATH whose ``sottovoce`` is the command, warm; and what else it needs: environment and socket."""
    script = folder / "sottovoce"
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS '{__file__}' -m sottovoce \"$@\"\n")
    script.chmod(0o755)
    return {_SOCKET: str(_forker().fileno())}, (_forker().fileno(),)


@cache
def _forker():
    """The socket that requests go to. The process at its other end ends when this one does."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _LARGEST_REQUEST)
    alive, kept = os.pipe()
    numbers = (its.fileno(), alive)
    environment = {name: entry for name, entry in os.environ.items() if name != _SOCKET}
    process = subprocess.Popen(
        [sys.executable, __file__, "fork", *map(str, numbers)], pass_fds=numbers, env=environment
    )
    its.close()
    os.close(alive)

    @atexit.register
    def end():
        ours.close()
        os.close(kept)
        process.wait()

    return ours


def _send(forker, request, ends):
    """Ask for a process; the ends of its streams, and of the pipe for its number and exit code, are its own then."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", ends))
    forker.sendmsg([json.dumps(request).encode()], [rights])
    for end in ends:
        os.close(end)


def _fork_on_request(requests, alive):
    """Fork for each request, until nobody is left to make one. Returns what to be, in what was forked."""
    running = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready = select.select([requests, alive, woken], [], [])[0]
        if alive in ready:
            os._exit(0)
        if woken in ready:
            os.read(woken, 4096)
            for pid in list(running):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    _tell(running[pid], os.waitstatus_to_exitcode(status))
                    os.close(running.pop(pid))
        if requests in ready:
            said, ends, *_ = socket.recv_fds(requests, _LARGEST_REQUEST, 4)
            request = json.loads(said)
            if pid := os.fork():
                if request["process_group"] is not None:  # it is, when its number is known
                    os.setpgid(pid, request["process_group"])
                for end in ends[1:]:
                    os.close(end)
                running[pid] = ends[0]
                _tell(ends[0], pid)
            else:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for end in (requests.detach(), alive, woken, wake, *running.values()):
                    os.close(end)
                return request, ends


def _tell(status, number):
    with suppress(BrokenPipeError):  # the requester is gone
        os.write(status, b"%d\n" % number)


def _become(request, ends):
    """Run what was requested: a module, code or a file."""
    import runpy

    os.close(ends[0])
    for number, end in enumerate(ends[1:]):
        os.dup2(end, number)
        os.close(end)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[1:1] = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )  # fmt: skip
    kind, *arguments = request["arguments"]
    if kind == "-m":
        sys.argv, sys.path[0] = arguments, request["cwd"]
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv, sys.path[0] = ["-c", *arguments[1:]], ""
        exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0] = [kind, *arguments], str(Path(kind).parent)
        runpy.run_path(kind, run_name="__main__")


def _end_as(be, *arguments):
    """Run something, and end as Python does, but without tearing down what was imported: half a second's work."""
    code = 0
    try:
        be(*arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        code = -signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    _die_of(code)


def _die_of(code):
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _preload():
    for name in PRELOADED:
        import_module(name)
    import numba
    import numpy as np

    numba.njit(lambda numbers: numbers.sum() + 1.0)(np.ones(2))  # loads the compiler, which imports much of its own
    if sys.dont_write_bytecode:
        _compile_once("sottovoce")
    gc.freeze()  # so that what is forked does not copy it all to look for garbage


def _compile_once(package):
    """Keep the package's code in memory: what is forked runs it again, but need not compile two hundred files again."""
    sources = Path(find_spec(package).origin).parent.rglob("*.py")
    compiled = {str(path): compile(path.read_bytes(), path, "exec", dont_inherit=True) for path in sources}
    read = SourceFileLoader.get_code
    SourceFileLoader.get_code = lambda loader, name: compiled.get(loader.path) or read(loader, name)


def _stand_in(arguments):
    """A shell's process in place of the real one: passes signals on, and ends as the real one ends."""
    forker = socket.socket(fileno=int(os.environ[_SOCKET]))
    news, status = os.pipe()
    request = {
        "arguments": arguments,
        "cwd": os.getcwd(),
        "env": {name: entry for name, entry in os.environ.items() if name != _SOCKET},
        "process_group": os.getpgrp(),
    }
    _send(forker, request, [status, os.dup(0), os.dup(1), os.dup(2)])
    with os.fdopen(news) as pipe:
        pid = int(pipe.readline())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda given, _: os.kill(pid, given))
        code = int(pipe.readline())
    _die_of(code)


if __name__ == "__main__":
    if sys.argv[1] == "fork":
        _preload()
        _end_as(_become, *_fork_on_request(socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3])))
    else:
        _stand_in(sys.argv[1:])
