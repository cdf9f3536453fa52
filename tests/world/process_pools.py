"""Steps a world here and in other processes, started as the argument says; prints whether all results are the same.

Run as a program by `test_process_pools`: a process that hangs is ended by the test.
"""

import concurrent.futures
import copy
import multiprocessing
import sys
from functools import partial
from threading import Event, Thread

import numpy as np
from numba.core.compiler_lock import global_compiler_lock

import continua as ct

STEPS = 2
SECONDS = 200  # to wait for


def make_world():
    body = ct.SoftBody(ct.mesh.box(size=(2.0, 0.5, 0.5), cells=(40, 10, 10)), name="beam", solver=ct.PCG())
    body.pin(where=lambda x: x[:, 0] < 1e-9)
    return ct.World([body])


def step(world):
    """Step a world, which is larger than what kernels do serially, and return the bytes of its nodes."""
    assert world.bodies[0]._elements.pattern.parallel
    for _ in range(STEPS):
        world.step()
    return world.bodies[0].positions.tobytes()


def step_new(_number):
    return step(make_world())


def step_in_a_pool(number):
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as executor:
        return executor.submit(step_new, number).result(SECONDS)


def with_pool(method, function, arguments):
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map_async(function, arguments).get(SECONDS)


def with_executor(method, function, arguments):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        return list(executor.map(function, arguments, timeout=SECONDS))


def with_distributed(_method, function, arguments):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return client.gather(client.map(function, arguments, pure=False), direct=False)


def with_dask(_method, function, arguments):
    import dask

    return dask.compute(*map(dask.delayed(function), arguments), scheduler="processes", num_workers=2)


def while_compiling(method, function, arguments):
    """Fork while another thread holds the lock of the compiler: the child must not wait for it forever."""
    held, free = Event(), Event()

    def hold():
        with global_compiler_lock:
            held.set()
            free.wait(1.0)

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    results = with_pool(method, function, arguments)
    thread.join()
    return results


KINDS = {
    "pool": with_pool,
    "executor": with_executor,
    "distributed": with_distributed,
    "dask": with_dask,
    "compiling": while_compiling,
}


def main(kind, method):
    world = make_world()
    run = partial(KINDS[kind], method)
    expected = step(copy.deepcopy(world))
    results = list(run(step, [world]))
    if method == "fork":
        results += [*run(step_new, [1, 2]), step(world)]  # made in the workers; and the parent goes on
    if kind == "executor":
        results += run(step_in_a_pool, [1])  # a child of a child
    assert np.isfinite(np.frombuffer(expected)).all()
    print("same" if all(result == expected for result in results) else "different")


if __name__ == "__main__":
    main(*sys.argv[1:])
