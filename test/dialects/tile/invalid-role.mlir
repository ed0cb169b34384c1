// RUN: kpc-opt %s -verify-diagnostics -split-input-file

// Roles, and who in them does something.

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.role' op with 'registers' expected whole warpgroups, warps from a multiple of 4 to a larger one, got 0 to 1}}
    tile.role "producer" warps 0 to 1 registers 40 {
    ^bb0(%group: index):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.role' op with 'registers' expected whole warpgroups, warps from a multiple of 4 to a larger one, got 4 to 4}}
    tile.role "nobody" warps 4 to 4 registers 40 {
    ^bb0(%group: index):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.role' op expected 24 to 256 registers a thread, a multiple of 8, got 16}}
    tile.role "producer" warps 0 to 4 registers 16 {
    ^bb0(%group: index):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.role' op expected 24 to 256 registers a thread, a multiple of 8, got 42}}
    tile.role "producer" warps 0 to 4 registers 42 {
    ^bb0(%group: index):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.role' op expected one block argument, the warpgroup's number, an index}}
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: i32):
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel(%c: i1) kernel {
    scf.if %c {
      // expected-error @below {{'tile.role' op expected in the entry block of a kernel}}
      tile.role "producer" warps 0 to 4 registers 40 {
      ^bb0(%group: index):
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.elect' op expected scope 'warpgroup' or 'role', got 'block'}}
      tile.elect block {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.elect' op expected in a 'tile.role'}}
    tile.elect warpgroup {
    }
    gpu.return
  }
}

// -----

// Warps of other roles never come.
gpu.module @m {
  gpu.func @kernel() kernel {
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.sync' op of the block expected outside of roles}}
      tile.sync block
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.sync' op of a part of the block expected in a role}}
    tile.sync role
    gpu.return
  }
}

// -----

// One warpgroup has nobody to pass the turn to.
gpu.module @m {
  gpu.func @kernel() kernel {
    tile.role "consumer" warps 4 to 8 registers 240 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.wait_turn' op stands in a role of two or three whole warpgroups}}
      tile.wait_turn
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    // expected-error @below {{'tile.pass_turn' op stands in a role of two or three whole warpgroups}}
    tile.pass_turn
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kernel() kernel {
    tile.role "products" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      // expected-error @below {{'tile.role' op in a role expected some of its warps, whose registers that role sets}}
      tile.role "mma" warps 3 to 5 {
      ^bb0(%inner: index):
      }
    }
    gpu.return
  }
}
