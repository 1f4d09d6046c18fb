"""A Spark session, existing or new, without Spark's log output, and with errors that say what to do."""

import logging
import os
import shutil
import socket
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sottovoce.errors import BadParameter, ClusterError, MissingExtra

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext

_STANDALONE = "spark://"
_REACH_SECONDS = 10
_EXECUTOR_SECONDS = 120
_PY4J_LOGS_TO = (None, "py4j.clientserver", "py4j.java_gateway")  # a logger's filters do not see its children's records


def is_local(master: str) -> bool:
    """Whether a master's workers are on this machine, in the session's own process."""
    return master.partition("[")[0] == "local"


def running() -> "SparkContext | None":
    """The session of this process, if there is one."""
    if not sys.modules.get("pyspark"):
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def join(context: "SparkContext", master: str) -> "SparkContext":
    """Use the session that is already running; a process has only one."""
    if context.master != master:
        raise BadParameter(
            f"master {master!r}: this process already has a Spark session with {context.master!r}, and can have only "
            "one; stop that one, or use its master"
        )
    return context


def start(master: str, heap: int) -> "SparkContext":
    """Start a session whose Java process has at least this many bytes for the data that pass through it."""
    try:
        from pyspark import SparkConf, SparkContext
    except ImportError as error:
        raise MissingExtra(
            "the Spark engine: it needs PySpark 4; install it with: pip install 'sottovoce[spark]'"
        ) from error
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    if master.startswith(_STANDALONE):
        _reach(master)
    # Executors must run the Python that pickled their tasks; if its path differs there, the variable gives the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setMaster(master).setAppName("sottovoce").setAll([
        ("spark.ui.showConsoleProgress", "false"),
        ("spark.task.maxDirectResultSize", "64m"),  # larger results take a detour through the block store
        ("spark.driver.maxResultSize", "0"),  # no limit: the engine itself keeps results within memory
        ("spark.rpc.message.maxSize", "1024"),  # MB: a task carries the arrays of its block's objects
        # Between Java and its Pythons: on a TCP connection, a small task waits 20 ms for an acknowledgement.
        ("spark.python.unix.domain.socket.enabled", str(hasattr(socket, "AF_UNIX")).lower()),
    ])  # fmt: skip
    if heap > 1 << 30:  # Spark's own default
        conf.set("spark.driver.memory", f"{heap >> 20}m")
    if is_local(master):
        conf.setAll([
            ("spark.ui.enabled", "false"),
            ("spark.driver.host", "127.0.0.1"),
            ("spark.driver.bindAddress", "127.0.0.1"),
            # Java only hands out tasks and copies bytes: optimising that code would take more time than it saves.
            ("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
        ])  # fmt: skip
    for name in _PY4J_LOGS_TO:
        logging.getLogger(name).addFilter(_not_of_py4j)
    with tempfile.TemporaryFile() as output:
        if SparkContext._gateway is None:
            _start_java(conf, output)
        try:
            with warnings.catch_warnings():
                # PySpark warns if pandas is newer than it expects; nothing here uses pandas.
                warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
                context = SparkContext(conf=conf)
        except (Py4JJavaError, ValueError) as error:
            raise ClusterError(
                f"master {master!r}: Spark could not start a session there ({reason(error)}); "
                "check the address, and that its machines accept connections from this one"
            ) from error
    if not is_local(master):
        _wait_for_executor(context)
    return context


def stop(context: "SparkContext") -> None:
    """Stop a session and its Java: the next session may need one with more memory."""
    from pyspark import SparkContext

    context.stop()
    for name in _PY4J_LOGS_TO:
        logging.getLogger(name).removeFilter(_not_of_py4j)
    gateway = SparkContext._gateway
    if gateway is not None and gateway.proc is not None:  # there is none if Spark has started this Python
        SparkContext._gateway = SparkContext._jvm = None
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Drop Py4J's records: it logs a traceback of every Ctrl-C and of every error, although its callers handle them."""
    return Path(record.pathname).parent.name != "py4j"


def reason(error: BaseException) -> str:
    """The relevant line of an error that came through Java: the last line of the Python traceback, if there is one."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    first, _, traceback = text.partition("Traceback (most recent call last):")
    if not traceback:
        return first.strip().splitlines()[0]
    unindented = [line for line in traceback.partition("\n\tat ")[0].splitlines() if line and not line[0].isspace()]
    return unindented[-1] if unindented else first.strip()


def _start_java(conf: "SparkConf", output: IO[bytes]) -> None:
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else shutil.which(Path(home) / "bin" / "java")
    if java is None:
        where = "there is no java on the PATH" if home is None else f"JAVA_HOME={home} has no bin/java"
        raise MissingExtra(
            f"the Spark engine: {where}, but Spark needs Java 17 or newer; install it (on Debian and Ubuntu: "
            "apt install openjdk-17-jre-headless), or set JAVA_HOME"
        )
    try:
        gateway = launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
        first_line = next(
            (line for line in lines if line and not line.startswith(("WARNING", "Picked up"))), "without a message"
        )
        raise ClusterError(
            f"{java}: Spark's Java process exited before it was ready ({first_line}); Spark needs Java 17 or newer and "
            "enough memory: install it, or free some memory"
        ) from error
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def _reach(master: str) -> None:
    """Try to connect, because Spark itself would retry for a minute and then stop without giving a reason."""
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise BadParameter(f"master {master!r}: {address!r} is not host:port; write it as spark://host:7077")
        try:
            socket.create_connection((host, int(port)), _REACH_SECONDS).close()
        except OSError as error:
            failure = error
        else:
            return
    raise ClusterError(
        f"master {master!r}: it does not answer ({failure.strerror or failure}); "
        "check the address, and that the master is running"
    ) from failure


def _wait_for_executor(context: "SparkContext") -> None:
    """Wait for an executor, but not for ever: without one, a job would wait without any message."""
    until = time.monotonic() + _EXECUTOR_SECONDS
    while len(context._jsc.sc().statusTracker().getExecutorInfos()) < 2:  # the first is the session itself
        if time.monotonic() > until:
            master = context.master
            stop(context)
            raise ClusterError(
                f"master {master!r}: the cluster has provided no worker within {_EXECUTOR_SECONDS} s; "
                "start workers, or try again when they are free"
            )
        time.sleep(0.1)
