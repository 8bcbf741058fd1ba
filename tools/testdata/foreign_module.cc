// SPDX-License-Identifier: Apache-2.0
// A tessera_mpi.so that some other program installed: a library without the symbol of a module.

extern "C" __attribute__((visibility("default"))) int some_other_symbol() { return 0; }
