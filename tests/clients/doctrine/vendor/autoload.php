<?php

// Loads the classes of Debian's packages, as the file of this name does that Composer writes.
require_once 'Symfony/Contracts/Deprecation/function.php';
spl_autoload_register(function (string $class): void {
    $file = stream_resolve_include_path(strtr($class, '\\', '/') . '.php');
    if ($file !== false) {
        require $file;
    }
});
