"""Timers and a cancelled one, from Python without a package: timers.py LIBRARY."""

import ctypes
import sys

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
fanin = ctypes.CDLL(sys.argv[1])
fanin.fanin_new.restype = ctypes.c_void_p
fanin.fanin_new.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
fanin.fanin_now.restype = ctypes.c_uint64
fanin.fanin_now.argtypes = [ctypes.c_void_p]
fanin.fanin_schedule.argtypes = [ctypes.c_void_p, ctypes.c_uint64, CALLBACK, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)]
fanin.fanin_cancel.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
fanin.fanin_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
fanin.fanin_free.argtypes = [ctypes.c_void_p]

error = ctypes.create_string_buffer(256)
simulation = fanin.fanin_new(b'schemes = ["newreno"]\n', None, 1, error, len(error))
if not simulation:
    sys.exit(error.value.decode())
due = []
timer = ctypes.c_uint64()


@CALLBACK
def first(_):
    due.append(fanin.fanin_now(simulation))
    fanin.fanin_cancel(simulation, timer)


@CALLBACK
def never(_):
    due.append("never")


fanin.fanin_schedule(simulation, 5_000_000, first, None, None)
fanin.fanin_schedule(simulation, 6_000_000, never, None, ctypes.byref(timer))
fanin.fanin_run(simulation, 10_000_000)
print(due, fanin.fanin_now(simulation))
fanin.fanin_free(simulation)
