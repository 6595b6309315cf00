/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a process can be. */
int main(void)
{
  return 0;
}
