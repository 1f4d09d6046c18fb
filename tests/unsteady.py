"""Tasks for workers that fail at the first attempt, that always fail, and that take their time."""

import time

from pyspark import TaskContext

from sottovoce.engines import operations, spark

of_block = spark._of_block


def user_sums(block, given):
    found = operations.user_sums(block, given)
    if TaskContext.get().attemptNumber() == 0 and block.first_object == 0:
        raise RuntimeError("the first attempt fails after its sums are made")
    return found


def always_fails(block, given):
    raise RuntimeError("this block cannot be done")


def slow_task(shared, given):
    time.sleep(0.2)
    return of_block(shared, given)
