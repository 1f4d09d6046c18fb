"""A real Spark cluster on this machine: a master and workers, each in its own process."""

import os
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pyspark

from patience import PATIENCE, until

CLASSES = "org.apache.spark.deploy"
# Java that starts fast, as in a session on one machine, and listens to this machine only.
ENVIRONMENT = {"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def executors(worker):
    """Pids of a worker's executors (Linux); it has other children, which come and go."""
    pids = [
        pid for listing in Path(f"/proc/{worker.pid}/task").glob("*/children") for pid in listing.read_text().split()
    ]
    return [int(pid) for pid in pids if b"ExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()]


class Cluster:
    """A master; workers come and go."""

    def __init__(self, folder):
        self.folder, self.port, self.started = folder, free_port(), []
        self.master = f"spark://127.0.0.1:{self.port}"
        try:
            self._start("master.Master", "--port", str(self.port))
            until(self._answers, "answer of the master")
        except BaseException:
            self.stop()
            raise

    @contextmanager
    def workers(self, count):
        """The processes of this many workers, for a while."""
        workers = [
            self._start("worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir",
                        str(self.folder / f"work-{number}"), self.master)
            for number in range(count)
        ]  # fmt: skip
        try:
            yield workers
        finally:
            _end(workers)

    def _start(self, name, *options):
        java = Path(pyspark.__file__).parent / "bin" / "spark-class"
        command = [java, f"{CLASSES}.{name}", "--host", "127.0.0.1", "--webui-port", "0", *options]
        with (self.folder / f"log-{len(self.started)}").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | ENVIRONMENT)
        self.started.append(process)
        return process

    def _answers(self):
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        _end(self.started)


def _end(processes):
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        process.wait(PATIENCE)
