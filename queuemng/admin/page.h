/* page.h: the dashboard's files. */
#ifndef SEGQ_MNG_PAGE_H
#define SEGQ_MNG_PAGE_H

#include "queuemng/admin/answers.h"

/* False: there is no such path. */
bool admin_page(struct admin_call *c);

#endif
