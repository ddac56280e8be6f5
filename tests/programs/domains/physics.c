#include <math.h>

void pair_energy(int n, double x[n], double y[n], double z[n], double o[1])
{
#pragma scop
    double u = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
            double r = dx * dx + dy * dy + dz * dz + 0.25;
            u += 1 / (r * r * r) - 1 / r;
        }
    o[0] = u;
#pragma endscop
}

void forces(int n, double x[n], double f[n], double o[1])
{
#pragma scop
    double virial = 0;
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < n; j++)
            if (j != i) {
                double d = x[i] - x[j];
                s += d / (d * d + 0.5);
            }
        f[i] = s;
        virial += s * x[i];
    }
    o[0] = virial;
#pragma endscop
}

void residual_of_heat(int n, int m, double A[n][m], double B[n][m], double o[1])
{
#pragma scop
    double e = 0;
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++) {
            double v = (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]) / 4;
            double d = v - A[i][j];
            B[i][j] = v;
            e += d * d;
        }
    o[0] = e;
#pragma endscop
}

void largest_change(int n, int m, double A[n][m], double B[n][m], double o[1])
{
#pragma scop
    double most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double d = fabs(A[i][j] - B[i][j]);
            A[i][j] = B[i][j];
            if (d > most)
                most = d;
        }
    o[0] = most;
#pragma endscop
}

void leapfrog(int n, double x[n], double v[n], double f[n], double dt, double o[1])
{
#pragma scop
    double kinetic = 0;
    for (int i = 0; i < n; i++) {
        v[i] += dt * f[i];
        x[i] += dt * v[i];
        kinetic += v[i] * v[i] / 2;
    }
    o[0] = kinetic;
#pragma endscop
}

void periodic_box(int n, double x[n], double length, int o[1])
{
#pragma scop
    int moved = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < 0) {
            x[i] += length;
            moved++;
        } else if (x[i] >= length) {
            x[i] -= length;
            moved++;
        }
    }
    o[0] = moved;
#pragma endscop
}

void lattice_density(int n, int m, double f[n][m][9], double rho[n][m], double o[1])
{
#pragma scop
    double mass = 0;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < m; x++) {
            double r = 0;
            for (int k = 0; k < 9; k++)
                r += f[y][x][k];
            rho[y][x] = r;
            mass += r;
        }
    o[0] = mass;
#pragma endscop
}

void time_step_limit(int n, double u[n], double c[n], double dx, double o[1])
{
#pragma scop
    double least = 1e9;
    for (int i = 0; i < n; i++) {
        double speed = fabs(u[i]) + fabs(c[i]) + 1;
        double t = dx / speed;
        if (t < least)
            least = t;
    }
    o[0] = least;
#pragma endscop
}

void magnetisation(int n, int s[n][n], int o[2])
{
#pragma scop
    int m = 0, e = 0;
    for (int i = 0; i < n - 1; i++)
        for (int j = 0; j < n - 1; j++) {
            int v = s[i][j] & 3;
            m += v;
            e -= v * ((s[i + 1][j] & 3) + (s[i][j + 1] & 3));
        }
    o[0] = m;
    o[1] = e;
#pragma endscop
}

void least_distance(int n, double x[n], double y[n], double o[1], int c[1])
{
#pragma scop
    double least = 1e9;
    int near = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double d = (x[i] - x[j]) * (x[i] - x[j]) + (y[i] - y[j]) * (y[i] - y[j]);
            least = fmin(least, d);
            if (d < 0.01)
                near++;
        }
    o[0] = least;
    c[0] = near;
#pragma endscop
}

void centre_of_mass(int n, double m[n], double x[n], double y[n], double o[3])
{
#pragma scop
    double all = 0, cx = 0, cy = 0;
    for (int i = 0; i < n; i++) {
        double w = m[i] + 2;
        all += w;
        cx += w * x[i];
        cy += w * y[i];
    }
    o[0] = all;
    o[1] = cx / (all + 1);
    o[2] = cy / (all + 1);
#pragma endscop
}

void boundary_flux(int n, int m, double u[n][m], double o[1])
{
#pragma scop
    double flux = 0;
    for (int i = 0; i < n; i++)
        flux += u[i][m - 1] - u[i][0];
    for (int j = 0; j < m; j++)
        flux += u[n - 1][j] - u[0][j];
    o[0] = flux;
#pragma endscop
}
