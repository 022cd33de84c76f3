"""The commands of studies, records and shipped models: a module each, found as `rws_decode.commands` tells."""
