<?php

// Loads the classes of Debian's packages, as the file of this name does that Composer writes. They use
// features that are deprecated.
error_reporting(E_ALL & ~E_DEPRECATED);
set_include_path('.:' . getenv('PHP_CLASSES'));
require_once 'Symfony/Contracts/Deprecation/function.php';
spl_autoload_register(function (string $class): void {
    $file = stream_resolve_include_path(strtr($class, '\\', '/') . '.php');
    if ($file !== false) {
        require $file;
    }
});
