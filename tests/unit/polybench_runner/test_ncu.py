"""The source page of Nsight Compute, in the forms that its versions write."""

from __future__ import annotations

import pytest

from polybench.runner.errors import RunnerError
from polybench.runner.ncu import Measured, read_source_page, totals

COLUMNS = (
    '"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","# Samples","Instructions Executed",'
    '"Thread Instructions Executed","Predicated-On Thread Instructions Executed","Divergent Branches","Address Space",'
    '"Access Operation","Access Size","L1 Tag Requests Global","L1 Wavefronts Shared Excessive","L1 Wavefronts Shared",'
    '"L1 Wavefronts Shared Ideal","L2 Theoretical Sectors Global Excessive","L2 Theoretical Sectors Global",'
    '"L2 Theoretical Sectors Global Ideal","stall_long_sb"'
)


def source(line: int, text: str) -> str:
    return f'"{line}","{text}","-","-","12","12"' + ',"9,999"' * 15


def sass(text: str, executed: str, lanes: str, *, sectors: str = "-", wavefronts: str = "-") -> str:
    shared = "-" if wavefronts == "-" else "0"
    return (
        f'"","","0x7f34c5fa9c10","      {text}","3","3","{executed}","{lanes}","{lanes}","0","-","-","-","-",'
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
        Measured(GEMM, 34, "global", "load", 3600, 84000, 13200, 0, frozenset({1.0, 11400 / 1800})),
        Measured(GEMM, 36, "global", "store", 200, 4840, 1300, 0, frozenset({1140 / 180, 8.0})),
        Measured(GEMM, 40, "global", "atomic", 5, 160, 5, 0, frozenset({1.0})),
        Measured(GEMM, 40, "shared", "load", 10, 320, 0, 20, frozenset({2.0})),
        Measured(GEMM, 40, "shared", "store", 10, 320, 0, 40, frozenset({4.0})),
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
    assert read_source_page(page, "k.cu") == (Measured("k0", 5, "global", "load", 8, 256, 64, 0, frozenset({8.0})),)


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
