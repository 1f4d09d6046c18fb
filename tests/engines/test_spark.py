"""The Spark engine: exactly the results of any other engine, whatever happens to its workers."""

import json
import logging
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from py4j import clientserver
from py4j.protocol import Py4JError
from typer.testing import CliRunner

import choice_conformance as choices
import sottovoce as sv
import unsteady
import warm
from command import run_process
from conformance import METHODS, assert_same_fit, cells, claims_of
from conftest import random_matrix
from numpy_engine import NumpyEngine
from patience import PATIENCE, until
from sottovoce.claims.packing import pack_claims
from sottovoce.cli.app import app
from sottovoce.engines import DiskEngine, SparkEngine, operations, spark, spark_session
from sottovoce.engines.blockwise import Work
from sottovoce.errors import BadParameter, ClusterError, MissingExtra, UnreadableFile
from spark_cluster import ENVIRONMENT, Cluster, executors, free_port

MASTER = "local[2, 4]"  # a task is tried four times
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def session():
    context = spark_session.start(MASTER, 0)
    context.addPyFile(unsteady.__file__)
    yield context
    spark_session.stop(context)


@pytest.fixture(params=["sums to the driver", "sums added up by workers"])
def tree(request, monkeypatch):
    if request.param == "sums added up by workers":
        monkeypatch.setattr(spark, "_DRIVER_BYTES", 0)
        monkeypatch.setattr(spark, "_PARTS_AT_ONCE", 2)


def packed(claims, folder, blocks):
    return pack_claims(claims, folder / "pack", claims_per_block=max(1, len(claims) // blocks))


@pytest.fixture
def crowd(tmp_path):
    claims = sv.worlds.synthetic(80, 60, fill=0.4, seed=3).claims
    return packed(claims, tmp_path, 9)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_random_claims(session, method, tmp_path):
    claims = sv.Claims.from_matrix(random_matrix(np.random.default_rng(5), 40, 30, 0.5))
    engine = SparkEngine(packed(claims, tmp_path, 3), MASTER)
    assert_same_fit(METHODS[method], lambda _: engine, claims, 2 if method in ("catd", "lfcn") else 4)


# Unusual claims are handled by the operations, and these methods use all of them.
@pytest.mark.parametrize(
    "method", ["crh", "crh absolute", "gtm with a prior", "catd", "median", "noise-aware", "noise-aware, fresh"]
)
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=cells)
def test_every_operation_on_made_up_claims(session, method, tmp_path_factory, values):
    engine = lambda claims: SparkEngine(packed(claims, tmp_path_factory.mktemp("made-up"), 2), MASTER)  # noqa: E731
    assert_same_fit(METHODS[method], engine, claims_of(values), 2)


@pytest.mark.parametrize(("method", "own"), choices.CASES)
def test_every_method_on_choices(session, method, own, tmp_path):
    claims = choices.crowd(3, own)
    pack = packed(claims, tmp_path, 3)
    by_spark, by_disk = (
        choices.assert_same_choices(method, engine, claims, 2)
        for engine in (SparkEngine(pack, MASTER), DiskEngine(pack))
    )
    assert by_spark.chances_.entries.tobytes() == by_disk.chances_.entries.tobytes()
    assert by_spark.weights_.tobytes() == by_disk.weights_.tobytes()


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("claims", [choices.crowd(4, users=12, objects=10), choices.crowd(4, True), choices.sets(2)])
def test_every_operation_on_choices(session, claims, tmp_path):
    choices.check_operations(SparkEngine(packed(claims, tmp_path, 5), MASTER), NumpyEngine(claims), 1)


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("method", ["crh", "noise-aware, fresh"])
def test_same_truths_however_sums_are_added_up(session, method, crowd):
    actual = METHODS[method](max_iter=3, tol=0).fit(SparkEngine(crowd, MASTER))
    expected = METHODS[method](max_iter=3, tol=0).fit(DiskEngine(crowd))
    np.testing.assert_allclose(actual.truths_, expected.truths_, rtol=1e-12)
    np.testing.assert_allclose(actual.weights_, expected.weights_, rtol=1e-12)


@pytest.mark.usefixtures("tree")
def test_a_task_that_is_tried_again_gives_the_same_sums(session, crowd):
    engine = SparkEngine(crowd, MASTER)
    factor = np.random.default_rng(0).random(engine.n_objects)
    _, (undisturbed,) = engine._pass(operations.user_sums, (factor,), sums=1)
    _, (tried_again,) = engine._pass(unsteady.user_sums, (factor,), sums=1)
    assert tried_again.tobytes() == undisturbed.tobytes()
    np.testing.assert_allclose(tried_again, DiskEngine(crowd).user_sums(factor), rtol=1e-12)


def test_work_that_fails_each_time_is_reported_in_one_line(session, crowd):
    with pytest.raises(ClusterError, match=r"RuntimeError: this block cannot be done") as caught:
        list(SparkEngine(crowd, MASTER).map(Work(unsteady.always_fails, crowd.manifest.users)))
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("harm", ["missing", "damaged", "truncated"])
def test_a_block_that_cannot_be_used_is_named(session, crowd, harm):
    path = crowd.folder / crowd.manifest.blocks[4].file
    if harm == "missing":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[-200] ^= 1
        path.write_bytes(content[:-100] if harm == "truncated" else content)
    with pytest.raises(UnreadableFile, match=path.name) as caught:
        sv.CRH().fit(SparkEngine(crowd, MASTER))
    assert "missing" in str(caught.value) or "damaged" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_workers_do_not_see_is_reported(session, crowd):
    engine = SparkEngine(crowd, MASTER)
    crowd.folder.rename(crowd.folder.with_name("elsewhere"))
    with pytest.raises(UnreadableFile, match=r"cannot find this pack.*put it on storage that all machines mount"):
        engine.means()


def test_a_pack_that_changes_during_a_run_is_reported(session, crowd, tmp_path):
    engine = SparkEngine(crowd, MASTER)
    crowd.folder.rename(tmp_path / "old")
    other = packed(sv.worlds.synthetic(30, 20, seed=1).claims, tmp_path, 2)
    with pytest.raises(UnreadableFile, match=f"finds pack {other.manifest.pack}.*must not change"):
        engine.means()


def test_a_process_has_one_session(session, crowd):
    with pytest.raises(BadParameter, match="can have only one"):
        SparkEngine(crowd, "local[3]").means()


def test_a_session_started_elsewhere_is_left_running(session, crowd):
    with SparkEngine(crowd, MASTER) as engine:
        engine.means()
    assert spark_session.running() is session


def test_more_users_than_one_piece_holds(crowd, monkeypatch):
    monkeypatch.setattr(spark, "_PIECE_BYTES", 16 * crowd.manifest.users)
    with pytest.raises(BadParameter, match=r"80 users: .* at most 2 GiB.* use the disk engine"):
        SparkEngine(crowd)


def test_a_master_that_does_not_answer_is_reported():
    master = f"spark://127.0.0.1:{free_port()}"
    with pytest.raises(ClusterError, match=f"{master}.*does not answer.*check the address"):
        spark_session.start(master, 0)


def test_an_invalid_master_address_is_reported():
    with pytest.raises(BadParameter, match="spark://host:7077"):
        spark_session.start("spark://somewhere", 0)


def test_missing_pyspark_is_reported(monkeypatch, crowd):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sottovoce\[spark\]'"):
        SparkEngine(crowd).means()


def without_java(**java):
    return {name: entry for name, entry in os.environ.items() if name not in ("PATH", "JAVA_HOME")} | java


def test_missing_java_is_reported(crowd, tmp_path):
    ran = run_process("discover", crowd.folder, "--engine", "spark", env=without_java(PATH=""))
    assert ran.returncode == 2
    assert "there is no java on the PATH" in " ".join(ran.stderr.split())
    assert "Java 17" in " ".join(ran.stderr.split())
    ran = run_process("discover", crowd.folder, "--engine", "spark", env=without_java(PATH="", JAVA_HOME=str(tmp_path)))
    assert ran.returncode == 2
    assert "has no bin/java" in " ".join(ran.stderr.split())


def test_java_that_ends_at_once_is_reported(crowd, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho this Java is too old >&2\nexit 1\n")
    java.chmod(0o755)
    ran = run_process("discover", crowd.folder, "--engine", "spark", env=os.environ | {"JAVA_HOME": str(tmp_path)})
    assert ran.returncode == 2
    assert "this Java is too old" in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr


def test_the_command_gives_the_same_truths_on_spark(crowd):
    options = ("--method", "crh", "--tol", "0.01", "--json")
    by_spark = run_process("discover", crowd.folder, "--engine", "spark", "--spark-master", "local[2]", *options)
    by_memory = run_process("discover", crowd.folder, "--engine", "memory", *options)
    assert by_spark.returncode == 0, by_spark.stderr
    assert by_spark.stderr == ""  # no log output of Spark and Java
    truths = [[entry["truth"] for entry in json.loads(ran.stdout)["truths"].values()] for ran in (by_spark, by_memory)]
    np.testing.assert_allclose(*truths, rtol=1e-9)


def test_the_command_accepts_choices(session, tmp_path):
    """The command runs in this process: another one would start a session, which is tested above."""
    claims = choices.crowd(3)
    pack = packed(claims, tmp_path, 3)
    printed = []
    for engine in (("spark", "--spark-master", MASTER), ("memory",)):
        ran = CliRunner().invoke(app, ["discover", str(pack.folder), "--method", "crh", "--json", "--engine", *engine])
        assert (ran.exit_code, ran.stderr) == (0, "")
        printed.append(json.loads(ran.stdout))
    for entry, other in zip(*(fit["truths"].values() for fit in printed), strict=True):
        assert entry["truth"] == other["truth"]
        assert entry["chances"] == pytest.approx(other["chances"], rel=1e-6)


def test_an_interrupted_command_can_be_resumed(crowd):
    options = ("--method", "crh", "--max-iter", "100000", "--tol", "0")
    command = ["-m", "sottovoce", "discover", crowd.folder, "--engine", "spark", *options]
    with warm.Process(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as started:
        until(lambda: (crowd.folder / "checkpoint-crh.arrow").exists(), "checkpoint")
        started.send_signal(signal.SIGINT)
        printed = started.stderr.read()
    assert started.returncode == 130, printed
    assert printed.startswith("Stopped. Iteration ")
    resumed = run_process("discover", crowd.folder, "--method", "crh", "--resume", "--json")
    assert resumed.returncode == 0, resumed.stderr


def test_an_interruption_that_also_breaks_the_connection_to_java_is_one(crowd, monkeypatch):
    def interrupted(*_):
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JError("Gateway must be connected to send cancel cmd.")

    engine = SparkEngine(crowd, MASTER)
    monkeypatch.setattr(engine, "_session", lambda: None)
    monkeypatch.setattr(engine, "_outcomes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.means()


@pytest.mark.parametrize("logger", [None, "py4j.clientserver", "py4j.java_gateway"])
def test_what_py4j_logs_of_an_interruption_is_not_shown(session, caplog, logger):
    """Py4J logs with its root logger and with those of its modules."""
    log = logging.getLogger(logger)
    record = log.makeRecord(log.name, logging.ERROR, clientserver.__file__, 512, "while shutting down", (), None)
    log.handle(record)
    assert not caplog.records
    log.error("of another module")
    assert [entry.message for entry in caplog.records] == ["of another module"]


def test_a_file_must_be_packed_first(tmp_path):
    (tmp_path / "claims.csv").write_text("user,object,value\na,b,1\n")
    ran = run_process("discover", tmp_path / "claims.csv", "--engine", "spark")
    assert ran.returncode == 2
    assert "is not a pack; make one with" in " ".join(ran.stderr.split())


def test_a_master_without_the_spark_engine_is_refused(crowd):
    ran = run_process("discover", crowd.folder, "--spark-master", "local[2]")
    assert ran.returncode == 2
    assert "add --engine spark" in " ".join(ran.stderr.split())


def test_engines_are_imported_without_spark():
    code = "import sys, sottovoce.engines; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_session_that_the_engine_started_ends_with_it(crowd):
    code = (
        "import subprocess, sys, numpy as np\n"
        "from sottovoce.claims.blocks import Pack\n"
        "from sottovoce.engines import DiskEngine, SparkEngine, spark_session\n"
        "pack = Pack(sys.argv[1])\n"
        "for _ in range(2):\n"
        "    with SparkEngine(pack, 'local[1]') as engine:\n"
        "        assert np.array_equal(engine.means(), DiskEngine(pack).means())\n"
        "        from pyspark import SparkContext\n"
        "        java = SparkContext._gateway.proc\n"
        "    assert spark_session.running() is None\n"
        "    assert java.returncode is not None\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, crowd.folder], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


def test_a_cluster_without_workers_is_reported(crowd, cluster):
    code = (
        "import sys\n"
        "from sottovoce.claims.blocks import Pack\n"
        "from sottovoce.engines import SparkEngine, spark_session\n"
        "spark_session._EXECUTOR_SECONDS = 2\n"
        "SparkEngine(Pack(sys.argv[1]), sys.argv[2]).means()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, crowd.folder, cluster.master],
        capture_output=True, text=True, env=os.environ | ENVIRONMENT, check=False,
    )  # fmt: skip
    assert "ClusterError" in ran.stderr
    assert "the cluster has provided no worker within 2 s; start workers" in " ".join(ran.stderr.split())


# Two fits on a cluster. During the second, whose tasks take their time, it says when a pass is half done, and goes on.
DRIVER = """
import sys, threading, time
import numpy as np
import sottovoce as sv
from sottovoce.claims.blocks import Pack
from sottovoce.engines import SparkEngine, spark

folder, master, tasks = sys.argv[1:]
spark._DRIVER_BYTES = 0  # sums are added up by workers: those that a lost one had added are lost with it

def tell():
    tracker = engine._session().statusTracker()
    while True:
        for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
            if stage and stage.numActiveTasks >= 2 and 3 <= stage.numCompletedTasks <= 6:
                return print("half done", flush=True)
        time.sleep(0.01)

def after_iteration(number, move):
    if number == 1 and name == "disturbed":
        threading.Thread(target=tell, daemon=True).start()

with SparkEngine(Pack(folder), master) as engine:
    for name in ("in peace", "disturbed"):
        fit = sv.CRH(max_iter=2, tol=0).fit(engine, progress=after_iteration)
        np.save(f"{folder}/{name}.npy", np.concatenate((fit.truths_, fit.weights_)))
        engine._session().addPyFile(tasks)
        import unsteady
        spark._of_block = unsteady.slow_task
"""


@pytest.mark.skipif(sys.platform != "linux", reason="finds the worker's processes in /proc")
def test_a_worker_that_is_killed_during_an_iteration(tmp_path, cluster):
    claims = sv.worlds.synthetic(400, 320, fill=0.5, seed=8).claims
    pack, events = packed(claims, tmp_path, 13), tmp_path / "events"
    events.mkdir()
    settings_folder = tmp_path / "conf"
    settings_folder.mkdir()
    (settings_folder / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir {events.as_uri()}\nspark.eventLog.compress false\n"
        "spark.eventLog.rolling.enabled false\n"
    )
    environment = os.environ | ENVIRONMENT | {"SPARK_CONF_DIR": str(settings_folder)}
    with cluster.workers(2) as (worker, _):
        command = [sys.executable, "-W", "error", "-c", DRIVER, pack.folder, cluster.master, unsteady.__file__]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as driver:
            assert driver.stdout.readline() == "half done\n"
            (executor,) = executors(worker)
            os.kill(executor, signal.SIGKILL)
            worker.kill()
            assert driver.wait(PATIENCE) == 0
    lost = [
        event for log in events.iterdir() for event in map(json.loads, log.read_text().splitlines())
        if event["Event"] == "SparkListenerTaskEnd" and event["Task End Reason"]["Reason"] == "ExecutorLostFailure"
    ]  # fmt: skip
    assert lost, "no task was running on the worker when it was killed"
    disturbed = np.load(pack.folder / "disturbed.npy")
    assert disturbed.tobytes() == np.load(pack.folder / "in peace.npy").tobytes()
    expected = sv.CRH(max_iter=2, tol=0).fit(claims)
    np.testing.assert_allclose(disturbed, np.concatenate((expected.truths_, expected.weights_)), rtol=1e-9)
