// star3d2r.c:28: A[(t + 1) % 2][i][j][k] = 0.2500f * A[t % 2][i][j][k] + 0.06255f * A[t % 2][i - 2][j][k] +
//     0.0626f * A[t % 2][i + 2][j][k] + 0.0620f * A[t % 2][i - 1][j][k] + 0.0621f * A[t % 2][i + 1][j][k] +
//     0.0627f * A[t % 2][i][j - 2][k] + 0.0628f * A[t % 2][i][j + 2][k] + 0.0622f * A[t % 2][i][j - 1][k] +
//     0.0623f * A[t % 2][i][j + 1][k] + 0.0629f * A[t % 2][i][j][k - 2] + 0.0630f * A[t % 2][i][j][k + 2] +
//     0.0624f * A[t % 2][i][j][k - 1] + 0.06245f * A[t % 2][i][j][k + 1];
// classic (fused) schedule; blocks: bi = z, bj = y, bk = x; 32 x 4 x 2 threads
extern "C" __global__ void __launch_bounds__(256) kernel_star3d2r_scop0_k0(int nx, int ny, int nz, int t,
        float *__restrict__ A)
{
    const int bk = blockIdx.x;
    const int tk = threadIdx.x;
    const int tj = threadIdx.y;
    const int ti = threadIdx.z;

    polytile_await_launches();
    for (int bj = blockIdx.y; bj <= (ny - 3) / 8; bj += gridDim.y) {
        for (int bi = blockIdx.z; bi <= (nx - 3) / 16; bi += gridDim.z) {
            if (ti + 2 * bi >= 1 && nx >= 8 * ti + 16 * bi + 10 && tj + 4 * bj >= 1 && ny >= 2 * tj + 8 * bj + 4 && nz >=
                    tk + 32 * bk + 3 && tk + 32 * bk >= 2) {
                int i = 8 * ti + 16 * bi;  // star3d2r.c:28
                int j = 2 * tj + 8 * bj;
                int k = tk + 32 * bk;
                float v0 = A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k];
                float v1 = 0.2500f * v0;
                float v2 = v1 + 0.06255f * A[(((long long)(t % 2) * nx + i - 2) * ny + j) * nz + k];
                float v3 = A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k];
                float v4 = v2 + 0.0626f * v3;
                float v5 = A[(((long long)(t % 2) * nx + i - 1) * ny + j) * nz + k];
                float v6 = v4 + 0.0620f * v5;
                float v7 = A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k];
                float v8 = v6 + 0.0621f * v7;
                float v9 = v8 + 0.0627f * A[(((long long)(t % 2) * nx + i) * ny + j - 2) * nz + k];
                float v10 = A[(((long long)(t % 2) * nx + i) * ny + j + 2) * nz + k];
                float v11 = v9 + 0.0628f * v10;
                float v12 = A[(((long long)(t % 2) * nx + i) * ny + j - 1) * nz + k];
                float v13 = v11 + 0.0622f * v12;
                float v14 = A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k];
                float v15 = v13 + 0.0623f * v14;
                float v16 = v15 + 0.0629f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 2];
                float v17 = v16 + 0.0630f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 2];
                float v18 = v17 + 0.0624f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i) * ny + j) * nz + k] = v18 +
                        0.06245f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 1];
                float v19 = 0.2500f * v14;
                float v20 = v19 + 0.06255f * A[(((long long)(t % 2) * nx + i - 2) * ny + j + 1) * nz + k];
                float v21 = A[(((long long)(t % 2) * nx + i + 2) * ny + j + 1) * nz + k];
                float v22 = v20 + 0.0626f * v21;
                float v23 = A[(((long long)(t % 2) * nx + i - 1) * ny + j + 1) * nz + k];
                float v24 = v22 + 0.0620f * v23;
                float v25 = A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k];
                float v26 = v24 + 0.0621f * v25;
                float v27 = v26 + 0.0627f * v12;
                float v28 = v27 + 0.0628f * A[(((long long)(t % 2) * nx + i) * ny + j + 3) * nz + k];
                float v29 = v28 + 0.0622f * v0;
                float v30 = v29 + 0.0623f * v10;
                float v31 = v30 + 0.0629f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k - 2];
                float v32 = v31 + 0.0630f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k + 2];
                float v33 = v32 + 0.0624f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i) * ny + j + 1) * nz + k] = v33 +
                        0.06245f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k + 1];
                float v34 = 0.2500f * v7;
                float v35 = v34 + 0.06255f * v5;
                float v36 = A[(((long long)(t % 2) * nx + i + 3) * ny + j) * nz + k];
                float v37 = v35 + 0.0626f * v36;
                float v38 = v37 + 0.0620f * v0;
                float v39 = v38 + 0.0621f * v3;
                float v40 = v39 + 0.0627f * A[(((long long)(t % 2) * nx + i + 1) * ny + j - 2) * nz + k];
                float v41 = A[(((long long)(t % 2) * nx + i + 1) * ny + j + 2) * nz + k];
                float v42 = v40 + 0.0628f * v41;
                float v43 = A[(((long long)(t % 2) * nx + i + 1) * ny + j - 1) * nz + k];
                float v44 = v42 + 0.0622f * v43;
                float v45 = v44 + 0.0623f * v25;
                float v46 = v45 + 0.0629f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k - 2];
                float v47 = v46 + 0.0630f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k + 2];
                float v48 = v47 + 0.0624f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 1) * ny + j) * nz + k] = v48 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k + 1];
                float v49 = 0.2500f * v25;
                float v50 = v49 + 0.06255f * v23;
                float v51 = A[(((long long)(t % 2) * nx + i + 3) * ny + j + 1) * nz + k];
                float v52 = v50 + 0.0626f * v51;
                float v53 = v52 + 0.0620f * v14;
                float v54 = v53 + 0.0621f * v21;
                float v55 = v54 + 0.0627f * v43;
                float v56 = v55 + 0.0628f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 3) * nz + k];
                float v57 = v56 + 0.0622f * v7;
                float v58 = v57 + 0.0623f * v41;
                float v59 = v58 + 0.0629f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k - 2];
                float v60 = v59 + 0.0630f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k + 2];
                float v61 = v60 + 0.0624f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 1) * ny + j + 1) * nz + k] = v61 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k + 1];
                float v62 = 0.2500f * v3;
                float v63 = v62 + 0.06255f * v0;
                float v64 = A[(((long long)(t % 2) * nx + i + 4) * ny + j) * nz + k];
                float v65 = v63 + 0.0626f * v64;
                float v66 = v65 + 0.0620f * v7;
                float v67 = v66 + 0.0621f * v36;
                float v68 = v67 + 0.0627f * A[(((long long)(t % 2) * nx + i + 2) * ny + j - 2) * nz + k];
                float v69 = A[(((long long)(t % 2) * nx + i + 2) * ny + j + 2) * nz + k];
                float v70 = v68 + 0.0628f * v69;
                float v71 = A[(((long long)(t % 2) * nx + i + 2) * ny + j - 1) * nz + k];
                float v72 = v70 + 0.0622f * v71;
                float v73 = v72 + 0.0623f * v21;
                float v74 = v73 + 0.0629f * A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k - 2];
                float v75 = v74 + 0.0630f * A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k + 2];
                float v76 = v75 + 0.0624f * A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 2) * ny + j) * nz + k] = v76 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k + 1];
                float v77 = 0.2500f * v21;
                float v78 = v77 + 0.06255f * v14;
                float v79 = A[(((long long)(t % 2) * nx + i + 4) * ny + j + 1) * nz + k];
                float v80 = v78 + 0.0626f * v79;
                float v81 = v80 + 0.0620f * v25;
                float v82 = v81 + 0.0621f * v51;
                float v83 = v82 + 0.0627f * v71;
                float v84 = v83 + 0.0628f * A[(((long long)(t % 2) * nx + i + 2) * ny + j + 3) * nz + k];
                float v85 = v84 + 0.0622f * v3;
                float v86 = v85 + 0.0623f * v69;
                float v87 = v86 + 0.0629f * A[(((long long)(t % 2) * nx + i + 2) * ny + j + 1) * nz + k - 2];
                float v88 = v87 + 0.0630f * A[(((long long)(t % 2) * nx + i + 2) * ny + j + 1) * nz + k + 2];
                float v89 = v88 + 0.0624f * A[(((long long)(t % 2) * nx + i + 2) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 2) * ny + j + 1) * nz + k] = v89 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 2) * ny + j + 1) * nz + k + 1];
                float v90 = 0.2500f * v36;
                float v91 = v90 + 0.06255f * v7;
                float v92 = A[(((long long)(t % 2) * nx + i + 5) * ny + j) * nz + k];
                float v93 = v91 + 0.0626f * v92;
                float v94 = v93 + 0.0620f * v3;
                float v95 = v94 + 0.0621f * v64;
                float v96 = v95 + 0.0627f * A[(((long long)(t % 2) * nx + i + 3) * ny + j - 2) * nz + k];
                float v97 = A[(((long long)(t % 2) * nx + i + 3) * ny + j + 2) * nz + k];
                float v98 = v96 + 0.0628f * v97;
                float v99 = A[(((long long)(t % 2) * nx + i + 3) * ny + j - 1) * nz + k];
                float v100 = v98 + 0.0622f * v99;
                float v101 = v100 + 0.0623f * v51;
                float v102 = v101 + 0.0629f * A[(((long long)(t % 2) * nx + i + 3) * ny + j) * nz + k - 2];
                float v103 = v102 + 0.0630f * A[(((long long)(t % 2) * nx + i + 3) * ny + j) * nz + k + 2];
                float v104 = v103 + 0.0624f * A[(((long long)(t % 2) * nx + i + 3) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 3) * ny + j) * nz + k] = v104 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 3) * ny + j) * nz + k + 1];
                float v105 = 0.2500f * v51;
                float v106 = v105 + 0.06255f * v25;
                float v107 = A[(((long long)(t % 2) * nx + i + 5) * ny + j + 1) * nz + k];
                float v108 = v106 + 0.0626f * v107;
                float v109 = v108 + 0.0620f * v21;
                float v110 = v109 + 0.0621f * v79;
                float v111 = v110 + 0.0627f * v99;
                float v112 = v111 + 0.0628f * A[(((long long)(t % 2) * nx + i + 3) * ny + j + 3) * nz + k];
                float v113 = v112 + 0.0622f * v36;
                float v114 = v113 + 0.0623f * v97;
                float v115 = v114 + 0.0629f * A[(((long long)(t % 2) * nx + i + 3) * ny + j + 1) * nz + k - 2];
                float v116 = v115 + 0.0630f * A[(((long long)(t % 2) * nx + i + 3) * ny + j + 1) * nz + k + 2];
                float v117 = v116 + 0.0624f * A[(((long long)(t % 2) * nx + i + 3) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 3) * ny + j + 1) * nz + k] = v117 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 3) * ny + j + 1) * nz + k + 1];
                float v118 = 0.2500f * v64;
                float v119 = v118 + 0.06255f * v3;
                float v120 = A[(((long long)(t % 2) * nx + i + 6) * ny + j) * nz + k];
                float v121 = v119 + 0.0626f * v120;
                float v122 = v121 + 0.0620f * v36;
                float v123 = v122 + 0.0621f * v92;
                float v124 = v123 + 0.0627f * A[(((long long)(t % 2) * nx + i + 4) * ny + j - 2) * nz + k];
                float v125 = A[(((long long)(t % 2) * nx + i + 4) * ny + j + 2) * nz + k];
                float v126 = v124 + 0.0628f * v125;
                float v127 = A[(((long long)(t % 2) * nx + i + 4) * ny + j - 1) * nz + k];
                float v128 = v126 + 0.0622f * v127;
                float v129 = v128 + 0.0623f * v79;
                float v130 = v129 + 0.0629f * A[(((long long)(t % 2) * nx + i + 4) * ny + j) * nz + k - 2];
                float v131 = v130 + 0.0630f * A[(((long long)(t % 2) * nx + i + 4) * ny + j) * nz + k + 2];
                float v132 = v131 + 0.0624f * A[(((long long)(t % 2) * nx + i + 4) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 4) * ny + j) * nz + k] = v132 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 4) * ny + j) * nz + k + 1];
                float v133 = 0.2500f * v79;
                float v134 = v133 + 0.06255f * v21;
                float v135 = A[(((long long)(t % 2) * nx + i + 6) * ny + j + 1) * nz + k];
                float v136 = v134 + 0.0626f * v135;
                float v137 = v136 + 0.0620f * v51;
                float v138 = v137 + 0.0621f * v107;
                float v139 = v138 + 0.0627f * v127;
                float v140 = v139 + 0.0628f * A[(((long long)(t % 2) * nx + i + 4) * ny + j + 3) * nz + k];
                float v141 = v140 + 0.0622f * v64;
                float v142 = v141 + 0.0623f * v125;
                float v143 = v142 + 0.0629f * A[(((long long)(t % 2) * nx + i + 4) * ny + j + 1) * nz + k - 2];
                float v144 = v143 + 0.0630f * A[(((long long)(t % 2) * nx + i + 4) * ny + j + 1) * nz + k + 2];
                float v145 = v144 + 0.0624f * A[(((long long)(t % 2) * nx + i + 4) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 4) * ny + j + 1) * nz + k] = v145 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 4) * ny + j + 1) * nz + k + 1];
                float v146 = 0.2500f * v92;
                float v147 = v146 + 0.06255f * v36;
                float v148 = A[(((long long)(t % 2) * nx + i + 7) * ny + j) * nz + k];
                float v149 = v147 + 0.0626f * v148;
                float v150 = v149 + 0.0620f * v64;
                float v151 = v150 + 0.0621f * v120;
                float v152 = v151 + 0.0627f * A[(((long long)(t % 2) * nx + i + 5) * ny + j - 2) * nz + k];
                float v153 = A[(((long long)(t % 2) * nx + i + 5) * ny + j + 2) * nz + k];
                float v154 = v152 + 0.0628f * v153;
                float v155 = A[(((long long)(t % 2) * nx + i + 5) * ny + j - 1) * nz + k];
                float v156 = v154 + 0.0622f * v155;
                float v157 = v156 + 0.0623f * v107;
                float v158 = v157 + 0.0629f * A[(((long long)(t % 2) * nx + i + 5) * ny + j) * nz + k - 2];
                float v159 = v158 + 0.0630f * A[(((long long)(t % 2) * nx + i + 5) * ny + j) * nz + k + 2];
                float v160 = v159 + 0.0624f * A[(((long long)(t % 2) * nx + i + 5) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 5) * ny + j) * nz + k] = v160 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 5) * ny + j) * nz + k + 1];
                float v161 = 0.2500f * v107;
                float v162 = v161 + 0.06255f * v51;
                float v163 = A[(((long long)(t % 2) * nx + i + 7) * ny + j + 1) * nz + k];
                float v164 = v162 + 0.0626f * v163;
                float v165 = v164 + 0.0620f * v79;
                float v166 = v165 + 0.0621f * v135;
                float v167 = v166 + 0.0627f * v155;
                float v168 = v167 + 0.0628f * A[(((long long)(t % 2) * nx + i + 5) * ny + j + 3) * nz + k];
                float v169 = v168 + 0.0622f * v92;
                float v170 = v169 + 0.0623f * v153;
                float v171 = v170 + 0.0629f * A[(((long long)(t % 2) * nx + i + 5) * ny + j + 1) * nz + k - 2];
                float v172 = v171 + 0.0630f * A[(((long long)(t % 2) * nx + i + 5) * ny + j + 1) * nz + k + 2];
                float v173 = v172 + 0.0624f * A[(((long long)(t % 2) * nx + i + 5) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 5) * ny + j + 1) * nz + k] = v173 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 5) * ny + j + 1) * nz + k + 1];
                float v174 = 0.2500f * v120;
                float v175 = v174 + 0.06255f * v64;
                float v176 = A[(((long long)(t % 2) * nx + i + 8) * ny + j) * nz + k];
                float v177 = v175 + 0.0626f * v176;
                float v178 = v177 + 0.0620f * v92;
                float v179 = v178 + 0.0621f * v148;
                float v180 = v179 + 0.0627f * A[(((long long)(t % 2) * nx + i + 6) * ny + j - 2) * nz + k];
                float v181 = A[(((long long)(t % 2) * nx + i + 6) * ny + j + 2) * nz + k];
                float v182 = v180 + 0.0628f * v181;
                float v183 = A[(((long long)(t % 2) * nx + i + 6) * ny + j - 1) * nz + k];
                float v184 = v182 + 0.0622f * v183;
                float v185 = v184 + 0.0623f * v135;
                float v186 = v185 + 0.0629f * A[(((long long)(t % 2) * nx + i + 6) * ny + j) * nz + k - 2];
                float v187 = v186 + 0.0630f * A[(((long long)(t % 2) * nx + i + 6) * ny + j) * nz + k + 2];
                float v188 = v187 + 0.0624f * A[(((long long)(t % 2) * nx + i + 6) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 6) * ny + j) * nz + k] = v188 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 6) * ny + j) * nz + k + 1];
                float v189 = 0.2500f * v135;
                float v190 = v189 + 0.06255f * v79;
                float v191 = A[(((long long)(t % 2) * nx + i + 8) * ny + j + 1) * nz + k];
                float v192 = v190 + 0.0626f * v191;
                float v193 = v192 + 0.0620f * v107;
                float v194 = v193 + 0.0621f * v163;
                float v195 = v194 + 0.0627f * v183;
                float v196 = v195 + 0.0628f * A[(((long long)(t % 2) * nx + i + 6) * ny + j + 3) * nz + k];
                float v197 = v196 + 0.0622f * v120;
                float v198 = v197 + 0.0623f * v181;
                float v199 = v198 + 0.0629f * A[(((long long)(t % 2) * nx + i + 6) * ny + j + 1) * nz + k - 2];
                float v200 = v199 + 0.0630f * A[(((long long)(t % 2) * nx + i + 6) * ny + j + 1) * nz + k + 2];
                float v201 = v200 + 0.0624f * A[(((long long)(t % 2) * nx + i + 6) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 6) * ny + j + 1) * nz + k] = v201 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 6) * ny + j + 1) * nz + k + 1];
                float v202 = 0.2500f * v148;
                float v203 = v202 + 0.06255f * v92;
                float v204 = v203 + 0.0626f * A[(((long long)(t % 2) * nx + i + 9) * ny + j) * nz + k];
                float v205 = v204 + 0.0620f * v120;
                float v206 = v205 + 0.0621f * v176;
                float v207 = v206 + 0.0627f * A[(((long long)(t % 2) * nx + i + 7) * ny + j - 2) * nz + k];
                float v208 = A[(((long long)(t % 2) * nx + i + 7) * ny + j + 2) * nz + k];
                float v209 = v207 + 0.0628f * v208;
                float v210 = A[(((long long)(t % 2) * nx + i + 7) * ny + j - 1) * nz + k];
                float v211 = v209 + 0.0622f * v210;
                float v212 = v211 + 0.0623f * v163;
                float v213 = v212 + 0.0629f * A[(((long long)(t % 2) * nx + i + 7) * ny + j) * nz + k - 2];
                float v214 = v213 + 0.0630f * A[(((long long)(t % 2) * nx + i + 7) * ny + j) * nz + k + 2];
                float v215 = v214 + 0.0624f * A[(((long long)(t % 2) * nx + i + 7) * ny + j) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 7) * ny + j) * nz + k] = v215 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 7) * ny + j) * nz + k + 1];
                float v216 = 0.2500f * v163;
                float v217 = v216 + 0.06255f * v107;
                float v218 = v217 + 0.0626f * A[(((long long)(t % 2) * nx + i + 9) * ny + j + 1) * nz + k];
                float v219 = v218 + 0.0620f * v135;
                float v220 = v219 + 0.0621f * v191;
                float v221 = v220 + 0.0627f * v210;
                float v222 = v221 + 0.0628f * A[(((long long)(t % 2) * nx + i + 7) * ny + j + 3) * nz + k];
                float v223 = v222 + 0.0622f * v148;
                float v224 = v223 + 0.0623f * v208;
                float v225 = v224 + 0.0629f * A[(((long long)(t % 2) * nx + i + 7) * ny + j + 1) * nz + k - 2];
                float v226 = v225 + 0.0630f * A[(((long long)(t % 2) * nx + i + 7) * ny + j + 1) * nz + k + 2];
                float v227 = v226 + 0.0624f * A[(((long long)(t % 2) * nx + i + 7) * ny + j + 1) * nz + k - 1];
                A[(((long long)((t + 1) % 2) * nx + i + 7) * ny + j + 1) * nz + k] = v227 +
                        0.06245f * A[(((long long)(t % 2) * nx + i + 7) * ny + j + 1) * nz + k + 1];
            } else if (tj + 4 * bj >= 1 && nz >= tk + 32 * bk + 3 && tk + 32 * bk >= 2) {
                #pragma unroll 1
                for (int c_7 = polytile_max(0, -8 * ti - 16 * bi + 2); c_7 < polytile_min(8, nx - 8 * ti - 16 * bi - 2);
                        ++c_7) {
                    #pragma unroll 1
                    for (int c_8 = 0; c_8 < polytile_min(2, ny - 2 * tj - 8 * bj - 2); ++c_8) {
                        int i = 8 * ti + 16 * bi + c_7;  // star3d2r.c:28
                        int j = 2 * tj + 8 * bj + c_8;
                        int k = tk + 32 * bk;
                        A[(((long long)((t + 1) % 2) * nx + i) * ny + j) * nz + k] =
                                0.2500f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k] +
                                0.06255f * A[(((long long)(t % 2) * nx + i - 2) * ny + j) * nz + k] +
                                0.0626f * A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k] +
                                0.0620f * A[(((long long)(t % 2) * nx + i - 1) * ny + j) * nz + k] +
                                0.0621f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k] +
                                0.0627f * A[(((long long)(t % 2) * nx + i) * ny + j - 2) * nz + k] +
                                0.0628f * A[(((long long)(t % 2) * nx + i) * ny + j + 2) * nz + k] +
                                0.0622f * A[(((long long)(t % 2) * nx + i) * ny + j - 1) * nz + k] +
                                0.0623f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k] +
                                0.0629f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 2] +
                                0.0630f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 2] +
                                0.0624f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 1] +
                                0.06245f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 1];
                    }
                }
            }
        }
    }
}
