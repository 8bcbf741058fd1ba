# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: reading the standard library again for every file takes a third of a cold
# build. Every file still includes what it uses: `make check` compiles each alone, without precompiled
# headers. Each public header is also compiled alone by a test.
#
#   tessera_precompile(TARGET [HEADER..])   the standard headers below, then HEADER..

set(TESSERA_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cstddef>
    <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span>
    <sstream> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)

function(tessera_precompile target)
  target_precompile_headers(${target} PRIVATE ${TESSERA_STANDARD_HEADERS} ${ARGN})
endfunction()
