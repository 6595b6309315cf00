/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that export and import share. */
#ifndef RP_ENGINE_TRANSFER_H
#define RP_ENGINE_TRANSFER_H

#define RP_TRANSFER_VERSION 2 /* what is read; 1 had no blobs, and is what is written where there are none */
#define RP__TRANSFER_END 1    /* a callback's word that it has seen enough */

#endif
