// expect: 2:10: error: cannot find include file 'cblas.h'
#include <cblas.h>
