"""The source page of Nsight Compute, in the forms that its versions write."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from polybench.runner.errors import RunnerError
from polybench.runner.ncu import Measured, read_source_page, totals

PAGES = Path(__file__).parent / "pages"
COLUMNS = (
    '"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","# Samples","Instructions Executed",'
    '"Thread Instructions Executed","Predicated-On Thread Instructions Executed","Divergent Branches","Address Space",'
    '"Access Operation","Access Size","L1 Tag Requests Global","L1 Wavefronts Shared Excessive","L1 Wavefronts Shared",'
    '"L1 Wavefronts Shared Ideal","L2 Theoretical Sectors Global Excessive","L2 Theoretical Sectors Global",'
    '"L2 Theoretical Sectors Global Ideal","stall_long_sb"'
)


def source(line: int, text: str) -> str:
    return f'"{line}","{text}","-","-","12","12"' + ',"9,999"' * 15


_ADDRESSES = count(0x7F34C5FA9C10, 16)


def sass(text: str, executed: str, lanes: str, *, sectors: str = "-", wavefronts: str = "-") -> str:
    shared = "-" if wavefronts == "-" else "0"
    return (
        f'"","","{next(_ADDRESSES):#x}","      {text}","3","3","{executed}","{lanes}","{lanes}","0","-","-","-","-",'
        f'"{shared}","{wavefronts}","{shared}","0","{sectors}","0","2"'
    )


PAGE = "\n".join(
    [
        "==PROF== Connected to process 4242",
        '"File Path","/export/polybench-gemm/gemm_kernel.cu"',
        '"Function Name","kernel_gemm_scop0_k0(int, int, int, double *, double, double, const double *)"',
        COLUMNS,
        source(33, "for (int k = 0; k < nk; ++k) {"),
        sass("@P0 BRA 0x7f34c5fa9d00", "360", "8,400"),
        source(34, "C_acc += alpha * A[i] * B[k];"),
        sass("LDG.E.64.CONSTANT R4, desc[UR4][R2.64]", "1,800", "42,000", sectors="1,800"),
        sass("@!P1 LDG.E.64.CONSTANT R6, desc[UR4][R8.64+0x10]", "1,800", "42,000", sectors="11,400"),
        sass("DFMA R10, R4, R6, R10", "1,800", "42,000"),
        source(36, 'C[0] = C_acc; // ""quoted"", and a comma'),
        sass("STG.E.64 desc[UR4][R2.64], R10", "180", "4200", sectors="1140"),
        source(40, "tile[0] = 0;"),
        sass("STS.64 [R0], R2", "10", "320", wavefronts="40"),
        sass("LDS.64 R2, [R0]", "10", "320", wavefronts="20"),
        sass("@P0 ATOMG.E.ADD.F64.RN.STRONG.GPU PT, R2, desc[UR4][R2.64], R4", "5", "160", sectors="5"),
        '"File Path","/usr/local/cuda/include/cuda_fp16.hpp"',
        '"Function Name","kernel_gemm_scop0_k0"',
        COLUMNS,
        source(34, "of another file"),
        sass("LDG.E.64 R4, desc[UR4][R2.64]", "7", "7", sectors="7"),
        '"File Path","/export/polybench-gemm/gemm_kernel.cu"',
        '"Function Name","kernel_gemm_scop0_k0"',
        COLUMNS,
        source(36, "a second launch"),
        sass("STG.E.64 desc[UR4][R2.64], R10", "20", "640", sectors="160"),
        "",
    ]
)
GEMM = "kernel_gemm_scop0_k0"


def test_loads_and_stores_by_line_over_all_launches() -> None:
    assert read_source_page(PAGE, "gemm_kernel.cu") == (
        # one of the two loads is guarded: of its 1800 requests, 42000 lanes need 1313 at least
        Measured(GEMM, 34, "global", "load", 3600, 3113, 3600, 84000, 13200, 0, frozenset({1.0, 11400 / 1800})),
        Measured(GEMM, 36, "global", "store", 200, 200, 200, 4840, 1300, 0, frozenset({1140 / 180, 8.0})),
        Measured(GEMM, 40, "global", "atomic", 5, 5, 5, 160, 5, 0, frozenset({1.0})),
        Measured(GEMM, 40, "shared", "load", 10, 10, 10, 320, 0, 20, frozenset({2.0})),
        Measured(GEMM, 40, "shared", "store", 10, 10, 10, 320, 0, 40, frozenset({4.0})),
    )


def test_windows_lines_a_mark_of_order_and_a_path_with_backslashes() -> None:
    page = "\ufeff" + PAGE.replace("/export/polybench-gemm/", "C:\\export\\").replace("\n", "\r\n")
    assert read_source_page(page, "gemm_kernel.cu") == read_source_page(PAGE, "gemm_kernel.cu")


def test_names_of_metrics_for_columns_in_another_order() -> None:
    page = "\n".join(
        [
            '"Function Name","void space::k0<(int)2>(double *)"',
            '"File Path","k.cu"',
            '"# Line","Source","memory_l2_theoretical_sectors_global","# Address","Source","inst_executed",'
            '"memory_l1_wavefronts_shared","thread_inst_executed_true"',
            '"5","x = y;","64","","","8","0","256"',
            '"","","64","140","LDG.E R0, [R2]","8","0","256"',
        ]
    )
    (load,) = read_source_page(page, "k.cu")
    assert load == Measured("k0", 5, "global", "load", 8, 8, 8, 256, 64, 0, frozenset({8.0}))


def real(name: str) -> str:
    return (PAGES / f"{name}-2025.3.csv").read_text()


def test_a_real_page_repeats_instructions_and_names_wavefronts_only_where_there_are_some() -> None:
    """A module of two kernels; only the first touches shared memory. Its loads of line 66 are guarded."""
    assert read_source_page(real("mvt"), "mvt_kernel.cu") == (
        Measured("main_scop0_k0", 66, "global", "load", 512, 480, 512, 15360, 3840, 0, frozenset({7.5})),
        Measured("main_scop0_k0", 89, "shared", "store", 32, 30, 32, 960, 0, 64, frozenset({2.0})),
        Measured("main_scop0_k0", 101, "global", "store", 4, 4, 4, 120, 30, 0, frozenset({7.5})),
        Measured("main_scop0_k1", 132, "global", "store", 4, 4, 4, 120, 30, 0, frozenset({7.5})),
    )


def test_a_real_page_of_a_kernel_that_ended_before_it_was_sampled() -> None:
    assert read_source_page(real("doitgen"), "doitgen_kernel.cu") == (
        Measured("main_scop0_k1", 65, "global", "load", 1, 1, 1, 30, 8, 0, frozenset({8.0})),
        Measured("main_scop0_k1", 65, "global", "store", 1, 1, 1, 30, 8, 0, frozenset({8.0})),
    )


def test_quotes_that_the_tool_does_not_double_hide_neither_the_line_nor_what_follows() -> None:
    page = real("mvt").replace('"101","x2_mid[', '"101","f(",", "a"); x2_mid[')
    assert read_source_page(page, "mvt_kernel.cu") == read_source_page(real("mvt"), "mvt_kernel.cu")


def test_an_inlined_instruction_counts_once_where_it_stands() -> None:
    """The tool prints it under the line of the function and under that of the call."""
    section = real("mvt").split('"File Path"')[1]
    store = next(row for row in section.splitlines() if "STG.E" in row)
    page = f'"File Path"{section}"140","f(x);","-"\n{store}\n'
    assert [one.line for one in read_source_page(page, "mvt_kernel.cu") if one.access == "store"] == [89, 101]


def without(page: str, column: str) -> str:
    return page.replace(f'"{column}"', '"Another"')


def test_without_the_column_of_shared_memory_only_shared_accesses_are_not_measured() -> None:
    found = read_source_page(without(real("mvt"), "L1 Wavefronts Shared"), "mvt_kernel.cu")
    assert [(one.line, one.sectors, one.wavefronts, one.lanes) for one in found] == [
        (66, 3840, 0, 15360),
        (89, 0, None, 960),
        (101, 30, 0, 120),
        (132, 30, 0, 120),
    ]


def test_without_the_column_of_sectors_a_kernel_whose_accesses_no_lane_made_cost_nothing() -> None:
    page = without(real("doitgen"), "L2 Theoretical Sectors Global")
    assert [one.sectors for one in read_source_page(page, "doitgen_kernel.cu")] == [None, None]
    idle = page.replace('"1","30","30",', '"1","30","0",')
    assert [(one.most, one.sectors) for one in read_source_page(idle, "doitgen_kernel.cu")] == [(1, 0), (1, 0)]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("", "no source page"),
        ("==ERROR== no kernels were profiled\n", "no source page"),
        ('"Kernel Name","k0"\n"Address","Source","Instructions Executed"\n"0x10","LDG R0, [R2]","1"\n', "-lineinfo"),
        ('"Line No","Source","Address","Source"\n"1","x","-","-"\n"","","0x10","LDG R0, [R2]"\n', "SourceCounters"),
    ],
)
def test_pages_that_do_not_tell(page: str, reason: str) -> None:
    with pytest.raises(RunnerError, match=reason):
        read_source_page(page, "k.cu")


def test_totals_of_the_raw_page() -> None:
    sectors, requests = (f"l1tex__t_{unit}_pipe_lsu_mem_global_op_ld.sum" for unit in ("sectors", "requests"))
    head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size"'
    fixed = '"42","driver","host","k0(int)","1","7","(32, 8, 1)","(2, 3, 1)"'
    page = "\n".join(
        [
            "==PROF== Disconnected",
            f'{head},"Device","CC","{requests}","{sectors}"',
            '"","","","","","","","","","","","",""',
            f'"0",{fixed},"0","9.0","1,800","11,400"',
            f'"1",{fixed},"0","9.0","200","600"',
        ]
    )
    assert totals(page) == {"k0": {requests: 2000.0, sectors: 12000.0}}
    with pytest.raises(RunnerError, match="no raw page"):
        totals("nothing")
