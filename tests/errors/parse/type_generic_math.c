// expect: 2:10: error: cannot find include file 'tgmath.h'
#include <tgmath.h>
