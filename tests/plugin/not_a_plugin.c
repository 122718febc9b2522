/* A shared library that is none of ours. */
int attnscale_plugin_v0(void);
int attnscale_plugin_v0(void) { return 0; }
