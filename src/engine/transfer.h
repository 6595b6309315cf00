/* SPDX-License-Identifier: Apache-2.0 */
/* What export and import agree on. */
#ifndef RP_ENGINE_TRANSFER_H
#define RP_ENGINE_TRANSFER_H

#define RP_TRANSFER_VERSION 1
#define RP__TRANSFER_END 1 /* a callback's word that it has seen enough */

#endif
