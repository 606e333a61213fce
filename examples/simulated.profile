{
  "version": 1,
  "detector": "fast10",
  "interval_ns": 1000000000,
  "simulated": true,
  "runs": [
    "/tmp/tmp.479iwaYOlg/ddr-1.run",
    "/tmp/tmp.479iwaYOlg/ddr-2.run",
    "/tmp/tmp.479iwaYOlg/ddw-1.run",
    "/tmp/tmp.479iwaYOlg/ddw-2.run",
    "/tmp/tmp.479iwaYOlg/iozoner-1.run",
    "/tmp/tmp.479iwaYOlg/iozoner-2.run",
    "/tmp/tmp.479iwaYOlg/iozonew-1.run",
    "/tmp/tmp.479iwaYOlg/iozonew-2.run",
    "/tmp/tmp.479iwaYOlg/postmark-1.run",
    "/tmp/tmp.479iwaYOlg/postmark-2.run"
  ],
  "parameters": {
    "average_least": 3.0,
    "average_span": 5.0,
    "bins": 16.0,
    "cwnd_least": 16.0,
    "cwnd_margin": 1.5,
    "cwnd_span": 31.0,
    "cwnd_step": 0.01,
    "epsilon": 0.0001,
    "factor": 2.0,
    "floor_await": 0.05,
    "floor_bytes": 10000.0,
    "floor_sectors": 128.0,
    "k": 3.0,
    "least_servers": 3.0,
    "least_values": 24.0,
    "median_share": 0.05,
    "step": 0.1,
    "weak": 7.8,
    "weak_factor": 2.0,
    "window_shift": 32.0,
    "window_size": 64.0
  },
  "thresholds": {
    "await": {
      "*": {
        "above": 1.1264572038554777,
        "below": 0.7916086945509891,
        "trained": 3.8000000000000003,
        "used": 6.497863601725498
      },
      "s1": {
        "above": 1.1146538000009345,
        "below": 0.9391119203935531,
        "trained": 0.8,
        "used": 1.6
      },
      "s2": {
        "above": 1.0,
        "below": 0.7916086945509891,
        "trained": 3.8000000000000003,
        "used": 6.497863601725498
      },
      "s3": {
        "above": 1.1264572038554777,
        "below": 0.9425344550506415,
        "trained": 0.9,
        "used": 1.8
      },
      "s4": {
        "above": 1.115451627741531,
        "below": 0.9303106711312427,
        "trained": 0.9,
        "used": 1.8
      },
      "s5": {
        "above": 1.119706736197063,
        "below": 0.9277426103306449,
        "trained": 0.8,
        "used": 1.6
      }
    },
    "cwnd_from_clients": {
      "*": {
        "fraction": 0.9400000000000001
      }
    },
    "cwnd_to_clients": {
      "*": {
        "fraction": 0.92
      }
    },
    "rd_sec": {
      "*": {
        "above": 1.096628587830222,
        "below": 0.8909286412154622,
        "trained": 0.5,
        "used": 1.0
      },
      "s1": {
        "above": 1.018384891876573,
        "below": 0.9166719245531703,
        "trained": 0.4,
        "used": 0.8
      },
      "s2": {
        "above": 1.0607705765630997,
        "below": 0.9598275072905181,
        "trained": 0.2,
        "used": 0.4
      },
      "s3": {
        "above": 1.0,
        "below": 0.8909286412154622,
        "trained": 0.5,
        "used": 1.0
      },
      "s4": {
        "above": 1.096628587830222,
        "below": 0.9907040057681588,
        "trained": 0.30000000000000004,
        "used": 0.6000000000000001
      },
      "s5": {
        "above": 1.0704328792848148,
        "below": 0.9951546792776689,
        "trained": 0.2,
        "used": 0.4
      }
    },
    "rxbyt": {
      "*": {
        "above": 1.156066658187675,
        "below": 0.8173075929915999,
        "trained": 1.2000000000000002,
        "used": 2.4000000000000004
      },
      "s1": {
        "above": 1.0573035085543179,
        "below": 0.8721929662690934,
        "trained": 1.2000000000000002,
        "used": 2.4000000000000004
      },
      "s2": {
        "above": 1.074623351095122,
        "below": 0.9698576958599819,
        "trained": 0.9,
        "used": 1.8
      },
      "s3": {
        "above": 1.0,
        "below": 0.8173075929915999,
        "trained": 1.0,
        "used": 2.0
      },
      "s4": {
        "above": 1.156066658187675,
        "below": 0.9834515281545477,
        "trained": 1.0,
        "used": 2.0
      },
      "s5": {
        "above": 1.127035653873667,
        "below": 0.9946082353642988,
        "trained": 0.8,
        "used": 1.6
      }
    },
    "txbyt": {
      "*": {
        "above": 1.1509027054732464,
        "below": 0.8231071507381211,
        "trained": 1.2000000000000002,
        "used": 2.4000000000000004
      },
      "s1": {
        "above": 1.0555909524360623,
        "below": 0.8761756866333276,
        "trained": 1.2000000000000002,
        "used": 2.4000000000000004
      },
      "s2": {
        "above": 1.0721965860923954,
        "below": 0.9706683582948114,
        "trained": 0.8,
        "used": 1.6
      },
      "s3": {
        "above": 1.0,
        "below": 0.8231071507381211,
        "trained": 1.0,
        "used": 2.0
      },
      "s4": {
        "above": 1.1509027054732464,
        "below": 0.9841564558770557,
        "trained": 1.0,
        "used": 2.0
      },
      "s5": {
        "above": 1.1229508041884535,
        "below": 0.9949507233203159,
        "trained": 0.8,
        "used": 1.6
      }
    },
    "wr_sec": {
      "*": {
        "above": 1.1276791796490586,
        "below": 0.8538338630953521,
        "trained": 0.8,
        "used": 1.6
      },
      "s1": {
        "above": 1.0216180109728357,
        "below": 0.8829169950232241,
        "trained": 0.7000000000000001,
        "used": 1.4000000000000001
      },
      "s2": {
        "above": 1.0813731333112313,
        "below": 0.9461184947786978,
        "trained": 0.4,
        "used": 0.8
      },
      "s3": {
        "above": 1.0,
        "below": 0.8538338630953521,
        "trained": 0.8,
        "used": 1.6
      },
      "s4": {
        "above": 1.1276791796490586,
        "below": 0.9842621626619408,
        "trained": 0.8,
        "used": 1.6
      },
      "s5": {
        "above": 1.1006423752944412,
        "below": 0.9915437463518392,
        "trained": 0.6000000000000001,
        "used": 1.2000000000000002
      }
    }
  }
}
