#ifndef POLYTILE_LIBGEN_H
#define POLYTILE_LIBGEN_H
char *basename(char *path);
char *dirname(char *path);
#endif
