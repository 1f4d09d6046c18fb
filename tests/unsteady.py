"""Operations for workers that fail: at the first attempt, or always."""

from pyspark import TaskContext

from sottovoce.engines import operations


def user_sums(block, given):
    found = operations.user_sums(block, given)
    if TaskContext.get().attemptNumber() == 0 and block.first_object == 0:
        raise RuntimeError("the first attempt fails after its sums are made")
    return found


def always_fails(block, given):
    raise RuntimeError("this block cannot be done")
