# SPDX-License-Identifier: Apache-2.0
"""The lab kernel: exact clock, same seed same run, nothing left on the host."""

import concurrent.futures
import hashlib
import os
import socket
import time

import inlab


def in_lab_facts():
    facts = dict(line.split() for line in inlab.read("/proc/delaycc_lab").splitlines())
    return facts, os.uname().release, inlab.read("/proc/sys/net/ipv4/tcp_available_congestion_control").split(), time.time()


def test_says_that_it_is_the_lab(lab):
    facts, release, algorithms, now = lab("in_lab_facts", seed=18446744073709551615)
    assert facts == {"clock_ns": "1", "seed": "18446744073709551615", "patch": "1"}
    assert release == "6.1.192-delaycc1"
    assert {"reno", "cubic", "bbr", "dctcp", "vegas", "cdg", "nv", "westwood"} <= set(algorithms)
    assert 1767225600 <= now < 1767225601


def in_lab_clock():
    reads = [time.clock_gettime_ns(time.CLOCK_MONOTONIC) for _ in range(1000)]
    resolution = time.clock_getres(time.CLOCK_MONOTONIC)
    late = []
    for delay_ns in (1, 2, 7, 100, 1001, 123456, 10**9):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        inlab.sleep_until(before + delay_ns + 10)
        late.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - before - delay_ns - 10)
    return [b - a for a, b in zip(reads, reads[1:])], resolution, late


def test_clock_has_one_nanosecond(lab):
    steps, resolution, late = lab("in_lab_clock")
    assert resolution == 1e-9
    assert set(steps) == {1}  # what a read costs
    # A timer fires at its very expiry; then the kernel and the test each read the clock.
    assert set(late) == {2}


def in_lab_failing_calls():
    a, b = socket.socketpair()
    a.setblocking(False)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    for _ in range(100):
        try:
            a.recv(1)
        except BlockingIOError:
            pass
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - before


def test_a_failing_system_call_costs_one_nanosecond(lab):
    assert lab("in_lab_failing_calls") == 101


def in_lab_run(rate_bps):
    """Everything that could differ: random bytes, addresses, ports, ISNs, loss recovery, timers."""
    a, b = inlab.pair(left=dict(rate_bps=rate_bps, delay_ns=6000, log_flags=3, limit_bytes=300000, loss_ppm=200, seed=4, port_id=1),
                      right=dict(rate_bps=rate_bps, delay_ns=6000, log_flags=3, port_id=2))
    for i in range(3):
        client, server = inlab.connection(a, b, 5001 + i)
        inlab.transfer(client, server, 2 << 20)
        client.close()
        server.close()
    time.sleep(0.5)
    with open("/proc/dccport_log", "rb") as file:
        log = file.read()
    syn = [e for e in inlab.events() if e.flags & inlab.SYN]
    return {"urandom": os.urandom(32).hex(), "isn": [e.seq for e in syn], "ports": [e.sport for e in syn],
            "boot_id": inlab.read("/proc/sys/kernel/random/boot_id"), "maps": inlab.read("/proc/self/maps").splitlines()[0],
            "stack": [line for line in inlab.read("/proc/self/maps").splitlines() if "stack" in line],
            "uptime_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC), "log_bytes": len(log), "log": hashlib.sha256(log).hexdigest()}


def test_same_seed_same_run_and_another_seed_another(lab):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(lab, "in_lab_run", 100 * 10**9, seed=seed, mem=mem)
                for seed, mem in ((7, "512M"), (7, "512M"), (8, "512M"))]
        first, second, other = [run.result() for run in runs]
    assert first["log_bytes"] > 48 * 4000
    assert first == second
    for key in ("urandom", "isn", "ports", "boot_id", "stack", "log"):
        assert first[key] != other[key], key


def test_leaves_nothing_on_the_host(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    before = set(os.listdir("/dev/shm"))
    lab("in_lab_facts")
    assert os.listdir(tmp_path) == []
    assert set(os.listdir("/dev/shm")) <= before


def in_lab_threads():
    """Threads of one process share a host process: each needs its own vector registers."""
    import threading

    results = []

    def work(k):
        total = 0.0
        for i in range(20000):
            total += k * 0.5
            if i % 500 == 0:
                time.sleep(1e-9 * k)
        results.append(total)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        os._exit(0 if sum(x * 0.1 for x in range(1000)) == 49950.0 else 1)
    return sorted(results), os.waitpid(child, 0)[1]


def test_threads_and_children_keep_their_registers(lab):
    results, status = lab("in_lab_threads")
    assert results == [k * 0.5 * 20000 for k in range(1, 5)]
    assert status in (0, 256)


def in_lab_tracing():
    inlab.mount("tracefs", "/sys/kernel/tracing")
    base = "/sys/kernel/tracing/events/tcp/tcp_probe/"
    inlab.write(base + "enable", "1")
    a, b = inlab.pair(left=dict(delay_ns=1000))
    client, server = inlab.connection(a, b)
    client.sendall(b"x" * 100)
    server.recv(1000)
    return inlab.read("/sys/kernel/tracing/trace").count("tcp_probe:")


def test_tracepoints_work(lab):
    assert lab("in_lab_tracing") > 0
