#ifndef POLYTILE_SYS_IOCTL_H
#define POLYTILE_SYS_IOCTL_H
struct winsize { unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel; };
#define TIOCGWINSZ 21523
int ioctl(int file, unsigned long request, ...);
#endif
