typedef int lt_placeholder;
